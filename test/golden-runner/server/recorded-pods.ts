import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Pod } from '../../../src/api/types.ts';
import type { World } from '../../component/world.ts';
import { codes, Refusal } from '../../fakes/fake-calls.ts';
import { loadPod } from '../../builders/load-pod.ts';
import { podUIDHash } from '../../../src/engine/config/load-manifest.ts';
import type { RecordedAgent } from './recorded-agent.ts';

/** The content of the log of `POD/CONTAINER`; null if the runtime writes none. */
export type LogFiles = Readonly<Record<string, string | null>>;

const defaultLog = '2024-01-02T03:04:05Z stdout F started\n';

/**
 * Scripts the runtime for these manifests: what a container does is in its command, and images whose name has `present`
 * are there.
 */
export function scriptPods({ runtime }: World, manifests: readonly string[]): void {
  for (const pod of manifests.map(podOf)) {
    for (const { name, image = '', command = [] } of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
      const [, code, ms] = /^exit:(\d+):(\d+)$/.exec(command[1] ?? '') ?? [];
      if (code !== undefined) runtime.script(name, { exitCode: Number(code), exitAfterMs: Number(ms) });
      if (image.includes('present')) runtime.addImage(image);
    }
  }
  runtime.injectError('pullImage', new Refusal(codes.notFound, 'scripted: no such image'), { times: Infinity });
}

/** The pod of a manifest, as the agent reads it. */
export function podOf(manifest: string): Pod {
  const { pod } = loadPod(manifest, { nodeName: 'edge1', source: 'file', origin: '/m.yaml', hash: podUIDHash });
  if (pod === undefined) throw new Error(`This is no pod:\n${manifest}`);
  return pod;
}

/** The runtime reports figures of all containers and pods that run. */
export async function reportUsage({ runtime, clock, folder }: World): Promise<void> {
  runtime.imageMountpoint = folder;
  const timestamp = BigInt(clock.now()) * 1_000_000n;
  const value = { value: BigInt(clock.now()) };
  const cpu = { timestamp, usageCoreNanoSeconds: value };
  const memory = {
    timestamp,
    workingSetBytes: value,
    usageBytes: value,
    rssBytes: value,
    pageFaults: value,
    majorPageFaults: value,
    availableBytes: value,
  };
  const swap = { timestamp, swapAvailableBytes: value, swapUsageBytes: value };
  const writableLayer = { timestamp, fsId: { mountpoint: folder }, usedBytes: value, inodesUsed: value };
  const [{ items }, { containers }] = await Promise.all([runtime.listPodSandbox(), runtime.listContainers()]);
  for (const { id } of containers) runtime.stats.set(id, { attributes: { id }, cpu, memory, swap, writableLayer });
  const ofPods = items.map((attributes) => ({ attributes, linux: { cpu, memory } }));
  runtime.podStats.splice(0, Infinity, ...ofPods);
}

/** An instance of a container in the runtime. */
interface Instance {
  /** Such as `web-edge1/a`. */
  name: string;
  attempt: number;
  id: string;
  logPath: string;
}

/** Every container that the runtime knows. */
export async function instancesOf({ runtime }: World): Promise<Instance[]> {
  const [{ items }, { containers }] = await Promise.all([runtime.listPodSandbox(), runtime.listContainers()]);
  const podNames = new Map(items.map(({ id, metadata }) => [id, metadata?.name ?? '']));
  return Promise.all(
    containers.map(async ({ id, podSandboxId, metadata }) => {
      const { status } = await runtime.containerStatus({ containerId: id });
      const name = `${podNames.get(podSandboxId) ?? ''}/${metadata?.name ?? ''}`;
      return { name, attempt: metadata?.attempt ?? 0, id, logPath: status?.logPath ?? '' };
    }),
  );
}

/** Writes the logs of all containers, and those that the runtime opens later. */
export async function writeLogs({ world }: RecordedAgent, files: LogFiles): Promise<void> {
  world.runtime.onOpenLog(({ logPath }) => {
    writeLog(logPath, defaultLog);
  });
  for (const { name, attempt, logPath } of await instancesOf(world)) {
    const text = files[name] === undefined ? defaultLog : files[name];
    if (text !== null) writeLog(logPath, text.replaceAll('{attempt}', String(attempt)));
  }
}

/** Without a wait: the log of a container is there before ReopenContainerLog returns. */
function writeLog(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
