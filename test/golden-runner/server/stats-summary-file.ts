import { join } from 'node:path';
import { writeAt } from '../../engine/stats/described-machine.ts';
import { comparingCase, type ReplayedCase } from '../replay-case.ts';
import { inNoTable } from '../replay.ts';
import { openRig, recordedFlags } from './open-rig.ts';
import type { RecordedAgent } from './recorded-agent.ts';
import { reportUsage } from './recorded-pods.ts';
import { type ServerFile, serverFile } from './server-file.ts';
import { shapeOf } from './shape.ts';

interface RecordedSummary {
  shape: string[];
  node: string[];
  systemContainers: Record<string, string[]>;
  pods: Record<string, RecordedPod>;
}

interface RecordedPod {
  pod: string[];
  containers: Record<string, string[]>;
  volumes: Record<string, string[]>;
}

interface StatsSummaryFile {
  /** Names the machine, and in brackets the state of its pods. */
  setup: string;
  summary: RecordedSummary;
  onlyCpuAndMemory: RecordedSummary;
}

/** A node, a pod or a container in an answer. */
type Part = { name?: string } & Readonly<Record<string, unknown>>;

/** The members of /stats/summary, of a machine with the recorded pods. */
export const statsSummaryFile: ServerFile = serverFile<StatsSummaryFile>(
  ['summary.shape', 'onlyCpuAndMemory.shape'],
  replay,
);

const kinds = { summary: '', onlyCpuAndMemory: '?only_cpu_and_memory=true' } as const;

function replay(file: StatsSummaryFile): ReturnType<ServerFile['replay']> {
  const pods = podsOf(file);
  const rig = openRig(
    { flags: recordedFlags, manifests: Object.fromEntries(pods.map((pod) => [`${pod.name}.yaml`, manifestOf(pod)])) },
    { isReady: (agent) => pods.every((pod) => isInState(agent, pod)) },
  );
  let measured: Promise<RecordedAgent> | undefined;
  const answers = new Map<string, Promise<object>>();
  const answerOf = (kind: keyof typeof kinds): Promise<object> => {
    measured ??= rig.agent().then((agent) => measure(agent, file));
    const answer = answers.get(kind) ?? measured.then((agent) => summaryOf(agent, kinds[kind]));
    answers.set(kind, answer);
    return answer;
  };
  const caseOf = (kind: keyof typeof kinds, part: keyof RecordedSummary): ReplayedCase =>
    comparingCase(`${kind} ${part}`, inNoTable({ kind, part }), async () => ({
      expected: sortedLists(file[kind][part]),
      actual: sortedLists(partsOf(await answerOf(kind))[part]),
    }));
  const parts = ['shape', 'node', 'systemContainers', 'pods'] as const;
  const cases = (['summary', 'onlyCpuAndMemory'] as const).flatMap((kind) => parts.map((part) => caseOf(kind, part)));
  return { cases, end: () => rig.end() };
}

interface DescribedPod {
  namespace: string;
  /** Without the name of the node. */
  name: string;
  state: string;
  recorded: RecordedPod;
}

/** The pods that the setup names, with those members that were recorded. */
function podsOf({ setup, summary }: StatsSummaryFile): DescribedPod[] {
  const named = [...setup.matchAll(/([\w.-]+)\/([\w.-]+)-edge1 \(([^)]*)\)/g)];
  return named.map(([, namespace = '', name = '', state = '']) => {
    const recorded = summary.pods[`${namespace}/${name}-edge1`] ?? { pod: [], containers: { only: [] }, volumes: {} };
    return { namespace, name, state, recorded };
  });
}

function manifestOf({ namespace, name, state, recorded }: DescribedPod): string {
  const volumes = Object.keys(recorded.volumes);
  const command = ['/fake', ...(/back-off|finished/.test(state) ? ['exit:0:300'] : ['run'])];
  const containers = Object.entries(recorded.containers).map(([container, members]) => ({
    name: container,
    image: 'fake.local/present:1',
    command,
    ...(members.includes('memory.availableBytes: number') && { resources: { limits: { memory: '64Mi' } } }),
    volumeMounts: volumes.map((volume) => ({ name: volume, mountPath: `/${volume}` })),
  }));
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace },
    spec: {
      ...(state.includes('finished') && { restartPolicy: 'Never' }),
      containers,
      volumes: volumes.map((volume) => ({ name: volume, emptyDir: {} })),
    },
  });
}

function isInState({ engine }: RecordedAgent, { name, state }: DescribedPod): boolean {
  const pod = `${name}-edge1`;
  if (state.includes('finished')) return engine.phase(pod) === 'Succeeded';
  if (!state.includes('back-off')) return engine.isReady(pod);
  const [status] = engine.pod(pod)?.pod.status?.containerStatuses ?? [];
  return status?.state?.waiting?.reason === 'CrashLoopBackOff';
}

/** Samples until the slow figures are there: rates after two samples, disks after the background measured them. */
async function measure(agent: RecordedAgent, { summary }: StatsSummaryFile): Promise<RecordedAgent> {
  const { world, engine, folder } = agent;
  // The recorded agent and its runtime were in the root cgroup.
  const roots = { kubelet: 'self', runtime: '77' } as const;
  for (const [name, process] of Object.entries(roots)) {
    if (name in summary.systemContainers) continue;
    await writeAt(join(folder, 'measured/proc', process, 'cgroup'), '4:memory:/\n3:cpuacct:/\n');
  }
  const volumes = Object.values(summary.pods).flatMap((pod) => Object.keys(pod.volumes)).length;
  await world.until(async () => {
    await reportUsage(world);
    const { node, pods } = await engine.kubelet.summary({ maxAgeMs: 0, cpuAndMemoryOnly: false });
    const hasRates = node.cpu?.usageNanoCores !== undefined;
    return hasRates && pods.flatMap(({ volume = [] }) => volume).length >= volumes;
  });
  return agent;
}

async function summaryOf({ ports }: RecordedAgent, query: string): Promise<object> {
  const answer: unknown = await (await fetch(`http://127.0.0.1:${ports.readonly}/stats/summary${query}`)).json();
  return answer as object;
}

/** The answer in the form in which it was recorded. */
function partsOf(answer: object): RecordedSummary {
  const { node, pods } = answer as {
    node: { systemContainers?: Part[] };
    pods: ({ podRef: { namespace: string; name: string }; containers: Part[]; volume?: Part[] } & Part)[];
  };
  const ofPods = pods.map(({ containers, volume = [], ...pod }): [string, RecordedPod] => [
    `${pod.podRef.namespace}/${pod.podRef.name}`,
    { pod: shapeOf(pod), containers: shapesByName(containers), volumes: shapesByName(volume) },
  ]);
  return {
    shape: shapeOf(answer),
    node: shapeOf(node),
    systemContainers: shapesByName(node.systemContainers ?? []),
    pods: Object.fromEntries(ofPods),
  };
}

const shapesByName = (parts: readonly Part[]): Record<string, string[]> =>
  Object.fromEntries(parts.map((part) => [part.name ?? '', shapeOf(part)]));

/** Lists of strings in one order, because the recording sorts by another rule. */
function sortedLists(value: unknown): unknown {
  if (Array.isArray(value)) return [...(value as string[])].sort();
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, sortedLists(member)]));
}
