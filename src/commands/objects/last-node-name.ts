import { hostname } from 'node:os';
import { PodDirs } from '../../engine/host/pod-dirs.ts';
import { readRevision } from '../../engine/in-place/applied-revisions.ts';
import { nodeNameOf } from '../../node/options/node-options.ts';

/** The name of the node when an agent last ran on this root-dir: that of its pods, or else that of this machine. */
export async function lastNodeName(rootDir: string): Promise<string> {
  const podDirs = new PodDirs({ rootDir });
  for (const uid of await podDirs.podUIDs()) {
    const { pod } = (await readRevision(podDirs.podDir(uid))) ?? {};
    if (pod?.spec.nodeName !== undefined) return pod.spec.nodeName;
  }
  return nodeNameOf(hostname());
}
