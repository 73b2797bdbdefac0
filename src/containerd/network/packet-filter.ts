import type { Family } from './rules.ts';

/** The rules of one address family in the kernel. */
export interface PacketFilter {
  readonly family: Family;
  /** Resolves to what iptables-save prints. */
  save(): Promise<string>;
  /** Runs `iptables-restore --noflush`, which changes only the chains that `input` names. */
  restore(input: string): Promise<void>;
}

/** Milliseconds: a busy machine waits for the lock first. */
const timeoutMs = 15_000;
/** Seconds that iptables waits for its lock. */
const lockSeconds = '10';
/** Kubernetes and Docker may have tens of thousands of rules. */
const maxBuffer = 64 * 1024 * 1024;

/** `program` is the path of iptables or ip6tables. */
export function packetFilter(family: Family, program: string): PacketFilter {
  const run = async (suffix: string, words: readonly string[], input = ''): Promise<string> => {
    // Loaded here, because only nodes with rules need it.
    const { execa } = await import('execa');
    const { failed, timedOut, stdout, stderr, shortMessage } = await execa(`${program}-${suffix}`, words, {
      input,
      reject: false,
      timeout: timeoutMs,
      maxBuffer,
    });
    if (!failed) return stdout;
    const [reason] = stderr.split('\n').filter((line) => line !== '');
    throw new Error(timedOut ? `${program} did not answer in ${timeoutMs / 1000} s` : (reason ?? shortMessage ?? ''));
  };
  return {
    family,
    save: () => run('save', []),
    restore: async (input) => {
      await run('restore', ['-w', lockSeconds, '--noflush'], input);
    },
  };
}
