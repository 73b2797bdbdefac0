import { systemClock } from '../../clock.ts';
import { publicNames } from '../../engine/redaction/declared-secrets.ts';
import { errorMessage, UserError } from '../../errors.ts';
import { withTimeout } from '../../flow/with-timeout.ts';
import { fetchMetrics, fetchSnapshot, fetchStats } from '../../server/control/control-client.ts';
import { controlSocketPath } from '../../server/control/socket-paths.ts';
import { diagnose, type Examined } from '../doctor/diagnose.ts';
import { podsFromRuntime } from '../pods-from-runtime.ts';
import { connectToRuntime } from '../runtime-connection.ts';
import { withRuntime } from '../with-runtime.ts';
import { historyParts, logParts, mountsPart, processesPart, versionPart } from './machine-parts.ts';
import { lastGoodParts, manifestParts } from './manifest-parts.ts';
import type { Part } from './redact.ts';

/** Time limit of each part in milliseconds. */
const partMs = 30_000;

/** A missing part, and the reason. */
export interface MissingPart {
  name: string;
  reason: string;
}

/** Reads all parts of a bundle. An unreadable part is listed as missing. */
export async function collectParts(examined: Examined): Promise<{ parts: Part[]; missing: MissingPart[] }> {
  const { options } = examined;
  const { rootDir, manifestPaths, secrets, ...configuration } = options;
  const { configurationError } = examined;
  const socket = controlSocketPath(rootDir);
  const missing: MissingPart[] = [];
  const attempt = async (name: string, read: () => Promise<Part[]>): Promise<Part[]> => {
    try {
      return await withTimeout(systemClock, partMs, read());
    } catch (error) {
      missing.push({ name, reason: errorMessage(error) });
      return [];
    }
  };
  const json = (name: string, value: unknown): Part[] => {
    if (value === undefined) throw new UserError('no kubelet-ts runs on this root-dir');
    return [{ name, content: { json: value } }];
  };
  const all = await Promise.all([
    attempt('versions.json', async () => [await versionPart()]),
    attempt('doctor.json', async () => json('doctor.json', await diagnose(examined))),
    attempt('configuration.json', async () =>
      Promise.resolve(json('configuration.json', { rootDir, manifestPaths, configurationError, ...configuration })),
    ),
    attempt('snapshot.json', async () => {
      const snapshot = await fetchSnapshot(socket);
      if (snapshot !== undefined) secrets.setPublicNames('pods', publicNames(snapshot.pods.map(({ pod }) => pod)));
      return json('snapshot.json', snapshot ?? { pods: await listPods(options) });
    }),
    attempt('stats.json', async () => json('stats.json', await fetchStats(socket, { maxAgeMs: 10_000 }))),
    attempt('metrics.txt', async () => textPart('metrics.txt', await fetchMetrics(socket))),
    attempt('logs', () => logParts(rootDir)),
    attempt('history', () => historyParts(rootDir)),
    attempt('manifests', () => manifestParts(manifestPaths)),
    attempt('manifests-last-good', () => lastGoodParts(rootDir)),
    attempt('mounts.txt', async () => [await mountsPart()]),
    attempt('processes.txt', async () => [await processesPart()]),
  ]);
  return { parts: all.flat(), missing };
}

function textPart(name: string, text: string | undefined): Part[] {
  if (text === undefined) throw new UserError('no kubelet-ts runs on this root-dir');
  return [{ name, content: { text } }];
}

/** The pods of the runtime, while no agent runs. */
async function listPods(options: Examined['options']): Promise<unknown> {
  return withRuntime(connectToRuntime(options), ({ runtime }) => podsFromRuntime(runtime, options.rootDir));
}
