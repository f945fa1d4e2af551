/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CMPTUN_RTNL_H
#define CMPTUN_RTNL_H

int cmptun_rtnl_init(void);
void cmptun_rtnl_exit(void);

#endif /* CMPTUN_RTNL_H */
