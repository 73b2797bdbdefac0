import { UserError } from '../../errors.ts';
import { visible } from '../../text/visible-text.ts';
import { savedManifests } from './declared-config-objects.ts';

/**
 * Returns the line for an empty list of declared objects: without an agent, what the last one knew. Rejects with a
 * `UserError` if nothing is known.
 */
export async function noneDeclared(kinds: readonly string[], rootDir: string, hasAgent: boolean): Promise<string> {
  const what = kinds.join(' or ');
  if (hasAgent) return `No ${what} is declared.\n`;
  if ((await savedManifests(rootDir)).length > 0)
    return visible(`No ${what} was declared when kubelet-ts last ran on ${rootDir}.`) + '\n';
  throw new UserError(`${rootDir} has no manifests of an earlier run, so it is unknown whether a ${what} is declared`, {
    hint: 'Start kubelet-ts: kubelet-ts run MANIFEST',
  });
}
