import { readdir, readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { RuntimeClass } from '../../api/values/node-class.ts';
import type { Pod } from '../../api/types.ts';
import { loadManifest } from '../../engine/config/load-manifest.ts';
import { ignoredBecause } from '../../engine/config/file/manifest-paths.ts';
import type { SourceUpdate } from '../../engine/config/pod-source.ts';
import { podFullName } from '../../api/values/pod-names.ts';
import type { RemoteManifestOptions } from '../../engine/config/polled/remote-manifest.ts';
import { readManifestURL } from '../sources/read-manifest-url.ts';
import { withNodeClasses } from '../sources/with-node-classes.ts';
import { joined, type ManifestsRequest, readManifests, stdinOrigin } from '../sources/read-manifests.ts';
import type { DesiredNode } from './node-state.ts';

interface Request extends ManifestsRequest {
  /** Classes of the configuration. */
  runtimeClasses: readonly RuntimeClass[];
  /** URLs of further manifests. */
  remote: readonly RemoteManifestOptions[];
}

/** Reads the declarations of the manifests, and their UIDs under other origins. */
export async function readDesiredNode(request: Request): Promise<DesiredNode & SourceUpdate> {
  const files = await readManifests(request);
  const remote = await Promise.all(request.remote.map(readManifestURL));
  const texts = [...(await Promise.all((await filesOf(request.manifests)).map((path) => readFile(path))))];
  if (request.stdin) texts.push(Buffer.from(request.stdin));
  const podsOf = (text: Uint8Array, origin: string): Pod[] => loadManifest(text, origin, request).pods;
  const textOf = new Map(
    texts.flatMap((text) => podsOf(text, stdinOrigin).map((pod) => [podFullName(pod), text] as const)),
  );
  return {
    ...withNodeClasses(joined([files, ...remote]), request.runtimeClasses),
    urls: remote.map(({ where }) => where),
    uidUnder: (pod, origin) => {
      const text = textOf.get(podFullName(pod));
      return text && podsOf(text, origin).find((other) => podFullName(other) === podFullName(pod))?.metadata.uid;
    },
  };
}

async function filesOf(manifests: readonly string[]): Promise<string[]> {
  const paths = manifests.filter((path) => path !== '-').map((path) => resolve(path));
  const files = paths.map(async (path) => {
    if (!(await stat(path)).isDirectory()) return [path];
    const names = (await readdir(path)).filter((name) => ignoredBecause(name) === undefined).sort();
    return names.map((name) => join(path, name));
  });
  return (await Promise.all(files)).flat();
}
