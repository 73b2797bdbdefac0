/** The cause of a failure, and its fixes. */
export interface Meaning {
  cause: string;
  fixes: string[];
  /** The field at fault: relative to the container, or a full path that begins with `spec.`. */
  field?: string;
}

/** A message of another program, such as a registry, and its meaning. */
export interface KnownMessage<Args extends unknown[]> {
  /** Matches the message. Its groups are passed to `cause`. */
  pattern: RegExp;
  cause: (found: readonly string[], ...args: Args) => string;
  fixes: (found: readonly string[], ...args: Args) => string[];
  field?: string | ((found: readonly string[], ...args: Args) => string);
}

/** Returns the meaning of the first pattern that matches. Returns undefined if none does. */
export function meaningOf<Args extends unknown[]>(
  known: readonly KnownMessage<Args>[],
  text: string,
  ...args: Args
): Meaning | undefined {
  for (const { pattern, cause, fixes, field } of known) {
    const found = pattern.exec(text);
    if (found === null) continue;
    const path = typeof field === 'function' ? field(found, ...args) : field;
    return { cause: cause(found, ...args), fixes: fixes(found, ...args), ...(path !== undefined && { field: path }) };
  }
  return undefined;
}

/** States of this machine that can make any step fail. */
export const machineMessages: readonly KnownMessage<[]>[] = [
  {
    // mkdir of a cgroup fails like this when the kernel's limit on cgroups is reached.
    pattern: /cgroup.*no space left on device/i,
    cause: () => 'this machine has no cgroups left',
    fixes: () => ['Compare num_cgroups with the limit of 65535: cat /proc/cgroups', 'Remove stale cgroups, or reboot.'],
  },
  {
    pattern: /resource temporarily unavailable/i,
    cause: () => 'this machine or the cgroup of the pod has no processes left',
    fixes: () => ['Find the processes: kubelet-ts top', 'Raise kernel.pid_max, or podPidsLimit of the configuration.'],
  },
  {
    pattern: /no space left on device|disk quota exceeded/i,
    cause: () => 'the disk of this machine is full',
    fixes: () => ['Make room: df -h; df -i', 'Look for large images: kubelet-ts images list'],
  },
  {
    pattern: /too many open files/i,
    cause: () => 'this machine has no file descriptors left',
    fixes: () => ['Raise the limit: sysctl fs.file-max, ulimit -n'],
  },
  {
    pattern: /cannot allocate memory|out of memory/i,
    cause: () => 'this machine has no memory left',
    fixes: () => ['Find the memory: kubelet-ts top, free -m'],
  },
];

/** Returns the last clause of a message, the part that matters most to a reader. */
export function lastClause(message: string): string {
  const clauses = message.trim().split(/: (?=\S)/);
  const last = clauses.at(-1) ?? message;
  return last.length < 12 && clauses.length > 1 ? clauses.slice(-2).join(': ') : last;
}
