import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request as askHTTPS } from 'node:https';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { writeAt } from '../../engine/stats/described-machine.ts';
import { comparingCase, type ReplayedCase } from '../replay-case.ts';
import { inNoTable } from '../replay.ts';
import { openRig, recordedFlags } from './open-rig.ts';
import type { RecordedAgent } from './recorded-agent.ts';
import { reportUsage } from './recorded-pods.ts';
import { type ServerFile, serverFile } from './server-file.ts';
import { differencesOfShape, shapeOf } from './shape.ts';

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

/** The members of the answers of a kubelet 1.36: at least these, and none of another type. */
export const shapesFile: ServerFile = serverFile<ShapesFile>(
  ['summary.shape', 'pods.shape', 'runningpods.shape'],
  replayShapes,
);

interface ShapesFile {
  setup: string;
  summary: { shape: string[] };
  pods: { shape: string[] };
  runningpods: { shape: string[] };
}

const shapeManifests = {
  'web.yaml': `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  initContainers: [{name: i, image: "fake.local/present:1", command: [/fake, "exit:0:1"]}]
  containers:
  - name: a
    image: fake.local/present:1
    command: [/fake, run]
    resources: {limits: {cpu: 100m, memory: 64Mi}}
    livenessProbe: {exec: {command: ["true"]}}
    readinessProbe: {exec: {command: ["true"]}}
    volumeMounts: [{name: cache, mountPath: /cache}]
  - {name: b, image: "fake.local/present:1", command: [/fake, run], stdin: true, tty: true}
  volumes: [{name: cache, emptyDir: {}}]
  hostNetwork: true
`,
  'crash.yaml': `apiVersion: v1
kind: Pod
metadata: {name: crash, namespace: other}
spec: {hostNetwork: true, containers: [{name: c, image: "fake.local/present:1", command: [/fake, "exit:1:300"]}]}
`,
  'done.yaml': `apiVersion: v1
kind: Pod
metadata: {name: done}
spec:
  hostNetwork: true
  restartPolicy: Never
  containers: [{name: d, image: "fake.local/present:1", command: [/fake, "exit:0:300"]}]
`,
};

function replayShapes({ summary, pods, runningpods }: ShapesFile): ReturnType<ServerFile['replay']> {
  const rig = openRig(
    { flags: recordedFlags, manifests: shapeManifests },
    {
      isReady: ({ engine }) =>
        engine.isReady('web-edge1') &&
        engine.phase('done-edge1') === 'Succeeded' &&
        engine.pod('crash-edge1')?.pod.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff',
    },
  );
  let measured: Promise<RecordedAgent> | undefined;
  const caseOf = (path: string, shape: readonly string[]): ReplayedCase =>
    comparingCase(path, inNoTable({ path }), async () => {
      measured ??= rig.agent().then(async (agent) => {
        await untilMeasured(agent, 1);
        return agent;
      });
      const { ports } = await measured;
      const answer =
        path === '/runningpods/' ? await askSecure(ports.secure, path) : await askPlain(ports.readonly, path);
      return { expected: { missing: [], otherwise: [] }, actual: differencesOfShape(shape, shapeOf(answer)) };
    });
  return {
    cases: [
      caseOf('/stats/summary', summary.shape),
      caseOf('/pods', pods.shape),
      caseOf('/runningpods/', runningpods.shape),
    ],
    end: () => rig.end(),
  };
}

async function askPlain(port: number, path: string): Promise<unknown> {
  return (await fetch(`http://127.0.0.1:${port}${path}`)).json();
}

async function askSecure(port: number, path: string): Promise<unknown> {
  const asked = askHTTPS({ port, path, rejectUnauthorized: false, agent: false });
  asked.end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  return json(answer);
}

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
      actual: sortedLists(partsOf(await answerOf(kind), kind)[part]),
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
  const { folder } = agent;
  // The recorded agent and its runtime were in the root cgroup.
  const roots = { kubelet: 'self', runtime: '77' } as const;
  for (const [name, process] of Object.entries(roots)) {
    if (name in summary.systemContainers) continue;
    await writeAt(join(folder, 'measured/proc', process, 'cgroup'), '4:memory:/\n3:cpuacct:/\n');
  }
  const volumes = Object.values(summary.pods).flatMap((pod) => Object.keys(pod.volumes)).length;
  await untilMeasured(agent, volumes);
  return agent;
}

async function untilMeasured({ world, engine }: RecordedAgent, volumes: number): Promise<void> {
  await world.until(async () => {
    await reportUsage(world);
    const { node, pods } = await engine.kubelet.summary({ maxAgeMs: 0, cpuAndMemoryOnly: false });
    const hasRates = node.cpu?.usageNanoCores !== undefined;
    return hasRates && pods.flatMap(({ volume = [] }) => volume).length >= volumes;
  });
}

async function summaryOf({ ports }: RecordedAgent, query: string): Promise<object> {
  return (await askPlain(ports.readonly, `/stats/summary${query}`)) as object;
}

/** The answer in the form in which it was recorded, without pressure: a kubelet 1.32 has none. */
function partsOf(answer: object, kind: keyof typeof kinds): RecordedSummary {
  const shapeBefore136 = (part: object): string[] => shapeOf(part).filter((line) => !isNewIn136(line, kind));
  const shapesByName = (parts: readonly Part[]): Record<string, string[]> =>
    Object.fromEntries(parts.map((part) => [part.name ?? '', shapeBefore136(part)]));
  const { node, pods } = answer as {
    node: { systemContainers?: Part[] };
    pods: ({ podRef: { namespace: string; name: string }; containers: Part[]; volume?: Part[] } & Part)[];
  };
  const ofPods = pods.map(({ containers, volume = [], ...pod }): [string, RecordedPod] => [
    `${pod.podRef.namespace}/${pod.podRef.name}`,
    { pod: shapeBefore136(pod), containers: shapesByName(containers), volumes: shapesByName(volume) },
  ]);
  return {
    shape: shapeBefore136(answer),
    node: shapeBefore136(node),
    systemContainers: shapesByName(node.systemContainers ?? []),
    pods: Object.fromEntries(ofPods),
  };
}

const isNewIn136 = (line: string, kind: keyof typeof kinds): boolean =>
  /(?:^|\.)(?:psi|io)[.:]/.test(line) || (kind === 'onlyCpuAndMemory' && /(?:^|\.)swap[.:]/.test(line));

/** Lists of strings in one order, because the recording sorts by another rule. */
function sortedLists(value: unknown): unknown {
  if (Array.isArray(value)) return [...(value as string[])].sort();
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, sortedLists(member)]));
}
