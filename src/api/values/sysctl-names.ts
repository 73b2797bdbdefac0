/** A kernel namespace of sysctls. */
export type SysctlNamespace = 'IPC' | 'Net';

const ipcNames: ReadonlySet<string> = new Set([
  'kernel.sem',
  'kernel.shmall',
  'kernel.shmmax',
  'kernel.shmmni',
  'kernel.shm_rmid_forced',
  'kernel.msgmax',
  'kernel.msgmnb',
  'kernel.msgmni',
  // Prefixes of names, which patterns such as kernel.msg* use.
  'kernel.shm',
  'kernel.msg',
]);

/**
 * The name with dots between its parts. In a name with slashes, a dot is part of a segment. kubelet:
 * component-helpers/node/util/sysctl/sysctl.go NormalizeName
 */
export function normalizeSysctlName(name: string): string {
  if (/[./]/.exec(name)?.[0] !== '/') return name;
  return name.replaceAll(/[./]/g, (separator) => (separator === '/' ? '.' : '/'));
}

/** The namespace of a sysctl, by its normalized name. kubelet: sysctl/namespace.go GetNamespace */
export function sysctlNamespace(name: string): SysctlNamespace | undefined {
  if (ipcNames.has(name) || name.startsWith('fs.mqueue.')) return 'IPC';
  return name.startsWith('net.') ? 'Net' : undefined;
}
