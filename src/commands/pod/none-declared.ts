import { visible } from '../../text/visible-text.ts';
import { savedManifests } from './declared-config-objects.ts';

/**
 * The lines for an empty list of declared objects. Without an agent, an empty list does not mean that nothing is
 * declared, so they say what is known.
 */
export async function noneDeclared(kinds: readonly string[], rootDir: string, hasAgent: boolean): Promise<string> {
  const what = kinds.join(' or ');
  if (hasAgent) return `No ${what} is declared.\n`;
  if ((await savedManifests(rootDir)).length > 0)
    return visible(`No ${what} was declared when kubelet-ts last ran on ${rootDir}.`) + '\n';
  const unknown = visible(
    `${rootDir} has no manifests of an earlier run, so it is unknown whether a ${what} is declared`,
  );
  return `${unknown}\nhint: Start kubelet-ts: kubelet-ts run MANIFEST\n`;
}
