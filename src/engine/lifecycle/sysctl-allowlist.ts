import { goQuote } from '../../api/values/go-quote.ts';
import { normalizeSysctlName, type SysctlNamespace, sysctlNamespace } from '../../api/values/sysctl-names.ts';
import type { PodSpec } from '../../api/types.ts';
import { UserError } from '../../errors.ts';

/** Sysctls that pods may set, each with the namespace that the pod must not share with the host. */
export interface SysctlAllowlist {
  names: ReadonlyMap<string, SysctlNamespace>;
  /** Prefixes of names. */
  prefixes: ReadonlyMap<string, SysctlNamespace>;
}

/** Sysctls that affect only the pod, with the first kernel version in which they do. kubelet: sysctl/safe_sysctls.go */
const safeSysctls: readonly (readonly [name: string, sinceKernel?: string])[] = [
  ['kernel.shm_rmid_forced'],
  ['net.ipv4.ip_local_port_range'],
  ['net.ipv4.tcp_syncookies'],
  ['net.ipv4.ping_group_range'],
  ['net.ipv4.ip_unprivileged_port_start'],
  ['net.ipv4.ip_local_reserved_ports', '3.16'],
  ['net.ipv4.tcp_keepalive_time', '4.5'],
  ['net.ipv4.tcp_fin_timeout', '4.6'],
  ['net.ipv4.tcp_keepalive_intvl', '4.5'],
  ['net.ipv4.tcp_keepalive_probes', '4.5'],
  ['net.ipv4.tcp_rmem', '4.15'],
  ['net.ipv4.tcp_wmem', '4.15'],
];

/** kubelet: apis/core/validation SysctlMaxLength */
const maxPatternLength = 253;
/**
 * Names, possibly with slashes, and prefixes that end with `*`. kubelet: apis/policy/validation
 * SysctlContainSlashPatternFmt
 */
const patternForm = String.raw`([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]`;
const patternRegExp = new RegExp(`^${patternForm}$`);

/**
 * The safe sysctls of this kernel and those that the node allows. Throws a `UserError` if a pattern is invalid or may
 * affect more than a pod. kubelet: sysctl/allowlist.go NewAllowlist
 */
export function sysctlAllowlist(kernelRelease: string, allowedUnsafe: readonly string[]): SysctlAllowlist {
  const safe = safeSysctls.filter(([, since]) => since === undefined || isAtLeast(kernelRelease, since));
  const names = new Map<string, SysctlNamespace>();
  const prefixes = new Map<string, SysctlNamespace>();
  for (const pattern of [...safe.map(([name]) => name), ...allowedUnsafe]) {
    if (pattern.length > maxPatternLength || !patternRegExp.test(pattern)) {
      throw new UserError(
        `--allowed-unsafe-sysctls: sysctl ${goQuote(pattern)} must have at most ${maxPatternLength} characters and ` +
          `match regex ${patternForm}`,
        { hint: 'Write a name such as net.core.somaxconn, or the beginning of names with a * at its end.' },
      );
    }
    const name = normalizeSysctlName(pattern).replace('*', '');
    const namespace = sysctlNamespace(name);
    if (namespace === undefined) {
      throw new UserError(`--allowed-unsafe-sysctls: "${pattern}" would reach beyond pods`, {
        hint: 'Allowed are net.*, kernel.sem, kernel.shm*, kernel.msg* and fs.mqueue.*, and names that begin so.',
      });
    }
    (pattern.endsWith('*') ? prefixes : names).set(name, namespace);
  }
  return { names, prefixes };
}

/**
 * Explains why the pod may not set one of its sysctls. Returns undefined if it may set all. kubelet:
 * sysctl/allowlist.go validateSysctl
 */
export function forbiddenSysctl(
  { securityContext, hostNetwork = false, hostIPC = false }: PodSpec,
  { names, prefixes }: SysctlAllowlist,
): string | undefined {
  for (const sysctl of securityContext?.sysctls ?? []) {
    const name = normalizeSysctlName(sysctl.name);
    const namespace = names.get(name) ?? [...prefixes].find(([prefix]) => name.startsWith(prefix))?.[1];
    if (namespace === undefined) return `"${name}" not allowlisted`;
    const isOfHost = namespace === 'Net' ? hostNetwork : hostIPC;
    if (isOfHost) return `"${name}" not allowed with host ${namespace} enabled`;
  }
  return undefined;
}

/** False if the version is unknown. */
function isAtLeast(release: string, version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [, actualMajor, actualMinor] = /^(\d+)\.(\d+)/.exec(release) ?? [];
  if (actualMajor === undefined) return false;
  return Number(actualMajor) > major || (Number(actualMajor) === major && Number(actualMinor) >= minor);
}
