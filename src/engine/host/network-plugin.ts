import { readFile } from 'node:fs/promises';
import { isOfThisRoot, listPIDs } from '../../process/process-identity.ts';

/**
 * Returns the name of the network plugin (CNI) that a runtime of this machine runs for a pod. Plugins call each other;
 * the last one is the one that the others wait for. Returns undefined if none runs.
 */
export async function runningNetworkPlugin(podUID: string): Promise<string | undefined> {
  let found: string | undefined;
  for (const pid of await listPIDs()) {
    const variables = (await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')).split('\0');
    const isPlugin = variables.some((variable) => variable.startsWith('CNI_COMMAND='));
    const isOfPod = variables.some((variable) => `${variable};`.includes(`K8S_POD_UID=${podUID};`));
    if (!isPlugin || !isOfPod || !(await isOfThisRoot(pid))) continue;
    found = (await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).trim() || found;
  }
  return found;
}
