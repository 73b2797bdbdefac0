import { join } from 'node:path';
import { execa } from 'execa';
import { systemClock } from '../clock.ts';
import { errorMessage } from '../errors.ts';
import { withFileLock } from '../files/file-lock.ts';
import { findProgram, searchFolders } from './find-containerd.ts';
import { subnetOf, SubnetClaims } from './subnet-claims.ts';

/** The iptables chain with all our rules. */
export const forwardChain = 'KUBELET-TS-FORWARD';
/** The name of each of our bridges begins like this. */
const bridges = 'kts+';
/** Seconds that iptables waits for its lock. */
const lockSeconds = '5';

export interface ForwardRules {
  /** The CNI configuration of our bridge. If it is missing, there is nothing to do. */
  file: string;
  claimsDir: string;
  /** Folders to search for iptables. */
  programFolders?: readonly string[];
}

/**
 * The rules replace those of the chain in one transaction. They accept connections to host ports of pods: where Docker
 * or ufw sets the policy of FORWARD to DROP, no other machine could open one.
 */
const rules = `*filter
:${forwardChain} - [0:0]
-A ${forwardChain} -o ${bridges} -m conntrack --ctstate DNAT -m comment --comment "host ports of kubelet-ts" -j ACCEPT
COMMIT
`;

/**
 * Lets connections to host ports through. The chain comes last in FORWARD: there it decides in place of the policy, and
 * an administrator's rules come first. Returns a warning if that fails.
 */
export async function allowForwarding({ file, claimsDir, programFolders }: ForwardRules): Promise<string | undefined> {
  if ((await subnetOf(file)) === undefined) return undefined;
  const iptables = await findIptables(programFolders);
  if (iptables === undefined) return undefined;
  try {
    await withFileLock(join(claimsDir, 'lock'), systemClock, async () => {
      await execa(`${iptables}-restore`, ['-w', lockSeconds, '--noflush'], { input: rules });
      if (!(await hasJump(iptables))) await execa(iptables, words('-A'));
    });
    return undefined;
  } catch (error) {
    return `iptables does not let connections to host ports through: ${errorMessage(error)}`;
  }
}

/** Removes the rules, unless another root-dir has a bridge. */
export async function disallowForwarding({ file, claimsDir, programFolders }: ForwardRules): Promise<void> {
  const iptables = await findIptables(programFolders);
  if (iptables === undefined || (await new SubnetClaims(claimsDir).ofOthers(file)).length > 0) return;
  await withFileLock(join(claimsDir, 'lock'), systemClock, async () => {
    if (!(await hasJump(iptables))) return;
    await execa(iptables, words('-D'));
    await execa(iptables, ['-w', lockSeconds, '-F', forwardChain]);
    await execa(iptables, ['-w', lockSeconds, '-X', forwardChain]);
  });
}

function findIptables(folders: readonly string[] = searchFolders(process.env['PATH'])): Promise<string | undefined> {
  return findProgram('iptables', folders);
}

async function hasJump(iptables: string): Promise<boolean> {
  const { failed } = await execa(iptables, words('-C'), { reject: false });
  return !failed;
}

const words = (action: '-A' | '-C' | '-D'): string[] => ['-w', lockSeconds, action, 'FORWARD', '-j', forwardChain];
