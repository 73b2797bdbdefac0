/** A namespace of the kernel that settings can belong to. */
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
  // Beginnings of names, in patterns such as kernel.msg*.
  'kernel.shm',
  'kernel.msg',
]);

/**
 * The name with dots between its parts. What is written with slashes has the dots inside of parts.
 * kubelet: component-helpers/node/util/sysctl/sysctl.go NormalizeName
 */
export function normalizeSysctlName(name: string): string {
  if (/[./]/.exec(name)?.[0] !== '/') return name;
  return name.replaceAll(/[./]/g, (separator) => (separator === '/' ? '.' : '/'));
}

/** The namespace that a sysctl is set in, by its normalized name. kubelet: sysctl/namespace.go GetNamespace */
export function sysctlNamespace(name: string): SysctlNamespace | undefined {
  if (ipcNames.has(name) || name.startsWith('fs.mqueue.')) return 'IPC';
  return name.startsWith('net.') ? 'Net' : undefined;
}
