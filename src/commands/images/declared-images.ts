import { hostname } from 'node:os';
import { defaultFeatureGates } from '../../api/values/feature-gates.ts';
import { problemText } from '../../api/values/problem-text.ts';
import { systemClock } from '../../clock.ts';
import type { SourceUpdate } from '../../engine/config/pod-source.ts';
import { UserError } from '../../errors.ts';
import { nodeNameOf } from '../../node/options/node-options.ts';
import { readManifests, readStdin, refuseBroken } from '../../node/sources/read-manifests.ts';
import type { CommandDeps } from '../io/deps.ts';
import { fetchSnapshot } from '../../server/control/control-client.ts';
import { controlSocketPath } from '../../server/control/socket-paths.ts';
import type { Pod } from '../../api/types.ts';

/** The objects that manifests declare. Prints warnings. Throws a `UserError` with all errors. */
export async function manifestsOf(paths: readonly string[], deps: CommandDeps): Promise<SourceUpdate> {
  const stdin = paths.includes('-') ? await readStdin(deps.stdin) : undefined;
  const update = await readManifests({
    manifests: paths,
    nodeName: nodeNameOf(hostname()),
    featureGates: defaultFeatureGates,
    stdin,
  });
  refuseBroken(update.problems, 'nothing was done');
  for (const problem of update.problems) deps.stderr.write(`${problemText(problem, systemClock.now())}\n`);
  return update;
}

/** The pods of the agent on this root-dir. Returns undefined if no agent runs. Rejects if the agent does not answer. */
export async function podsOfAgent(rootDir: string): Promise<Pod[] | undefined> {
  const snapshot = await fetchSnapshot(controlSocketPath(rootDir));
  return snapshot?.pods.map(({ pod }) => pod);
}

/** The pods of the manifests, or of the agent if none are named. Throws a `UserError` if no agent runs. */
export async function resolvePods(
  paths: readonly string[],
  rootDir: string,
  deps: CommandDeps,
): Promise<readonly Pod[]> {
  if (paths.length > 0) return (await manifestsOf(paths, deps)).pods;
  const pods = await podsOfAgent(rootDir);
  if (pods !== undefined) return pods;
  throw new UserError(`no manifest was named, and no kubelet-ts runs on ${rootDir}`, {
    hint: 'Name files or folders of manifests, or - for stdin.',
  });
}
