import type { SourceUpdate } from '../../engine/config/pod-source.ts';
import { RemoteManifest, type RemoteManifestOptions } from '../../engine/config/polled/remote-manifest.ts';

/** Fetches a manifest URL once. Returns everything it declares, with all problems. */
export async function readManifestURL(request: RemoteManifestOptions): Promise<SourceUpdate> {
  const manifest = new RemoteManifest(request);
  const { problems, warnings } = await manifest.check(new AbortController().signal);
  const update = manifest.declared?.update ?? { source: 'http', where: manifest.where, pods: [], problems: [] };
  return { ...update, problems: [...update.problems, ...problems, ...warnings] };
}
