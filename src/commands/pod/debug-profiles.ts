import type { EphemeralContainer } from '../../api/types.ts';

type SecurityContext = NonNullable<EphemeralContainer['securityContext']>;

/** Security of a debug container by the name of its profile. `legacy` sets nothing. kubectl: debug/profiles.go */
export const debugProfiles = {
  legacy: undefined,
  general: { capabilities: { add: ['SYS_PTRACE'] } },
  baseline: undefined,
  restricted: {
    runAsNonRoot: true,
    capabilities: { drop: ['ALL'] },
    allowPrivilegeEscalation: false,
    seccompProfile: { type: 'RuntimeDefault' },
  },
  netadmin: { capabilities: { add: ['NET_ADMIN', 'NET_RAW'] } },
  sysadmin: { privileged: true },
} as const satisfies Record<string, SecurityContext | undefined>;

export type DebugProfile = keyof typeof debugProfiles;
