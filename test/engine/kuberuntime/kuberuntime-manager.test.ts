import { SecretValues } from '../../../src/engine/redaction/secret-values.ts';
import { lstat, mkdir, readdir, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Pod } from '../../../src/api/types.ts';
import { BackOff } from '../../../src/flow/back-off.ts';
import { ConfigObjects } from '../../../src/engine/config-objects/config-objects.ts';
import { podEventRecorder } from '../../../src/engine/view/event-recorder.ts';
import { podCgroupLimits } from '../../../src/engine/container-manager/pod-cgroup-limits.ts';
import { UserNamespaces } from '../../../src/engine/userns/user-namespaces.ts';
import { PodRemover } from '../../../src/engine/kuberuntime/pod-remover.ts';
import { ImageManager } from '../../../src/engine/images/image-manager.ts';
import { PullCredentials } from '../../../src/engine/images/pull-credentials.ts';
import { PullWatch } from '../../../src/engine/images/pull-watch.ts';
import { KuberuntimeManager } from '../../../src/engine/kuberuntime/kuberuntime-manager.ts';
import { containerLogsDirectory, podLogsDirectory } from '../../../src/engine/container/log-paths.ts';
import type { RuntimePodStatus } from '../../../src/engine/container/runtime-pod-status.ts';
import { RuntimePods } from '../../../src/engine/kuberuntime/runtime-pods.ts';
import type { NodeConfig } from '../../../src/engine/config/node-config.ts';
import { PodDirs } from '../../../src/engine/host/pod-dirs.ts';
import { noProbeResults, type ProbeResults } from '../../../src/engine/container/probe-results.ts';
import { WallClockHistory } from '../../../src/flow/wall-clock-history.ts';
import { fixedNode, makeNodeConfig } from '../../builders/node-config.ts';
import { noServices } from '../../builders/services.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { EventRecorder } from '../../fakes/event-recorder.ts';
import { codes, Refusal } from '../../fakes/fake-calls.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';
import { noForeignPods } from '../../fakes/no-foreign-pods.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';

const image = 'registry.example/app:1';
const refused = new Refusal(codes.unknown, 'refused');

let clock: FakeClock;
let runtime: FakeRuntime;
let runtimePods: RuntimePods;
let events: EventRecorder;
let manager: KuberuntimeManager;
let podDirs: PodDirs;
let node: NodeConfig;

beforeEach(async () => {
  clock = new FakeClock();
  runtime = new FakeRuntime({ clock });
  runtime.addImage(image);
  runtimePods = new RuntimePods({ runtime, readTerminationMessage: ({ message }) => Promise.resolve(message) });
  events = new EventRecorder(clock);
  node = makeNodeConfig(await temporaryFolder());
  podDirs = new PodDirs(node);
  manager = makeManager();
});

function makeManager(): KuberuntimeManager {
  const backOff = new BackOff(clock);
  return new KuberuntimeManager({
    nodeClasses: new ConfigObjects(),
    runtime,
    imageManager: new ImageManager({
      imageService: runtime,
      backOff: new BackOff(clock),
      clock,
      settings: node.images,
      pullProgress: () => Promise.resolve(undefined),
      pullWatch: new PullWatch({ readIngests: () => Promise.resolve(undefined), clock, emit: () => undefined }),
      credentials: new PullCredentials({
        secrets: new SecretValues(),
        configObjects: new ConfigObjects(),
        nodeCredentials: () => Promise.resolve([]),
      }),
    }),
    podDirs,
    userNamespaces: new UserNamespaces({ podDirs, ids: fixedNode.userNamespaceIDs, isSupported: () => false }),
    services: noServices(podDirs),
    sandboxDelays: new Map(),
    configObjects: new ConfigObjects(),
    podRemover: new PodRemover({ runtime, ...node, foreignPods: noForeignPods(runtime) }),
    podCgroups: {
      prepare: () => Promise.resolve(),
      clearMemoryQoS: () => Promise.resolve([]),
      limitsOf: (pod) => podCgroupLimits(pod, { enforceCPULimits: true }),
      set: () => Promise.resolve(),
      resize: () => Promise.resolve(),
    },
    exclusiveCPUs: () => new Set(),
    node,
    supportsRecursiveReadOnly: () => false,
    ignoresCDIDevices: () => false,
    ignoresImageSubPaths: () => false,
    restartCounts: { nextRestartCount: () => Promise.resolve(0), containerCreated: () => Promise.resolve() },
    postStartHooks: { hookStarted: () => Promise.resolve(), hookFinished: () => undefined },
    clock,
    wallClock: new WallClockHistory(clock),
    backOff,
    logger: silentLogger,
  });
}

type Spec = NonNullable<Parameters<typeof makeStaticPod>[1]>['spec'];
const container = (name: string, more: object = {}): { name: string; image: string } => ({ name, image, ...more });
const podWith = (spec: Spec = {}): Pod => makeStaticPod('web', { uid: 'u1', spec });

/** One sync, from what the runtime says now; the results as `action target`, with the reason of what failed. */
async function sync(pod: Pod, probes?: (status: RuntimePodStatus) => Partial<ProbeResults>): Promise<string[]> {
  const podStatus = await runtimePods.getPodStatus(pod.metadata.uid);
  await mkdir(podDirs.podDir(pod.metadata.uid), { recursive: true });
  const results = await manager.syncPod({
    pod,
    podStatus,
    probes: { ...noProbeResults, ...probes?.(podStatus) },
    volumes: new Map(),
    recorder: podEventRecorder(events.emit, pod),
    signal: new AbortController().signal,
  });
  return results.map(({ action, target, reason, message }) =>
    [action, target, ...(reason === undefined ? [] : [reason, message])].join(' '),
  );
}

let seen = 0;
/** What was asked of the runtime since the last time, beyond looking. */
function acts(): string[] {
  const fresh = runtime.calls.slice(seen);
  seen = runtime.calls.length;
  return fresh.flatMap(({ method, request }) => {
    if (!/^(run|create|start|stop|remove|pull)/.test(method)) return [];
    const { containerId = '', config } = request as {
      containerId?: string;
      config?: { metadata?: { name?: string; attempt?: number } };
    };
    const what =
      config?.metadata === undefined ? containerId : `${config.metadata.name ?? ''}#${config.metadata.attempt ?? 0}`;
    return [what === '' ? method : `${method} ${what}`];
  });
}

beforeEach(() => {
  seen = 0;
});

const recorded = (): string[] =>
  events.events.flatMap((event) =>
    event.type === 'Recorded' ? [`${event.eventType} ${event.reason}: ${event.message}`] : [],
  );

/** The sandbox dies a while after its start. */
async function loseSandbox(): Promise<void> {
  await clock.advance(1000);
  runtime.killSandbox('web-edge1');
}

const exit = (name: string, exitCode: number): void => {
  runtime.exitContainer({ pod: 'web-edge1', container: name }, exitCode);
};

describe('a new pod', () => {
  test('gets its sandbox, then its containers in the order of the spec', async () => {
    const pod = podWith({ containers: [container('b'), container('a')] });
    expect(await sync(pod)).toEqual([
      'killPod web-edge1',
      'createPodSandbox web-edge1_default(u1)',
      'startContainer b',
      'startContainer a',
    ]);
    expect(acts()).toEqual([
      'runPodSandbox web-edge1#0',
      'createContainer b#0',
      'startContainer container2',
      'createContainer a#0',
      'startContainer container3',
    ]);
    expect(recorded().slice(0, 3)).toEqual([
      `Normal Pulled: Container image "${image}" already present on machine`,
      'Normal Created: Container created',
      'Normal Started: Container started',
    ]);
    expect(await sync(pod)).toEqual([]);
    expect(acts()).toEqual([]);
  });

  test('runs its init containers one after the other, each to its end', async () => {
    const pod = podWith({ initContainers: [container('one'), container('two')] });
    await sync(pod);
    expect(runtime.running()).toEqual(['web-edge1/one#0']);
    expect(await sync(pod)).toEqual([]);
    exit('one', 0);
    await sync(pod);
    expect(runtime.running()).toEqual(['web-edge1/two#0']);
    exit('two', 0);
    await sync(pod);
    expect(runtime.running()).toEqual(['web-edge1/main#0']);
  });

  test('runs a failed init container again, and keeps of it only the newest end', async () => {
    const pod = podWith({ initContainers: [container('one')] });
    await sync(pod);
    for (const attempt of [1, 2]) {
      exit('one', 1);
      await sync(pod);
      await clock.advance(60_000);
      await sync(pod);
      expect(runtime.running()).toEqual([`web-edge1/one#${attempt}`]);
    }
    exit('one', 0);
    await sync(pod);
    const { containerStatuses } = await runtimePods.getPodStatus('u1');
    const kept = containerStatuses.map(({ name, restartCount }) => `${name}#${restartCount}`);
    expect(kept.sort()).toEqual(['main#0', 'one#2']);
  });

  test('starts a sidecar and continues when it has started', async () => {
    const pod = podWith({ initContainers: [container('proxy', { restartPolicy: 'Always' }), container('setup')] });
    await sync(pod);
    expect(runtime.running()).toEqual(['web-edge1/proxy#0']);
    await sync(pod);
    expect(runtime.running()).toEqual(['web-edge1/proxy#0', 'web-edge1/setup#0']);
    exit('setup', 0);
    await sync(pod);
    expect(runtime.running()).toEqual(['web-edge1/main#0', 'web-edge1/proxy#0']);
  });

  test('has its logs where they are looked for, with a link for log shippers', async () => {
    const pod = podWith();
    await sync(pod);
    const [link = ''] = await readdir(node.containerLogLinksDir);
    expect(link).toBe('web-edge1_default_main-container2.log');
    const target = join(podLogsDirectory(node.podLogsDir, pod.metadata), 'main', '0.log');
    expect(await readlink(join(node.containerLogLinksDir, link))).toBe(target);
    expect(runtime.requestsOf('runPodSandbox')[0]?.config?.logDirectory).toBe(
      podLogsDirectory(node.podLogsDir, pod.metadata),
    );
    expect((await lstat(join(target, '..'))).isDirectory()).toBe(true);
  });
});

describe('a container', () => {
  test('has the link to its log before it starts, as nobody would make it up after a kill in between', async () => {
    runtime.injectError('startContainer', refused);
    await sync(podWith());
    expect(await readdir(node.containerLogLinksDir)).toEqual(['web-edge1_default_main-container2.log']);
  });

  test('keeps counting its restarts by its log files when the runtime has lost it', async () => {
    const pod = podWith();
    const logs = join(podLogsDirectory(node.podLogsDir, pod.metadata), 'main');
    await mkdir(logs, { recursive: true });
    for (const name of ['0.log', '4.log', '4.log.20250101-000000']) await writeFile(join(logs, name), '');
    await sync(pod);
    expect(runtime.running()).toEqual(['web-edge1/main#5']);
  });

  test('of which the image changed is killed and started with the new one, whatever the restart policy', async () => {
    await sync(podWith({ restartPolicy: 'Never' }));
    acts();
    const next = 'registry.example/app:2';
    const pod = podWith({ restartPolicy: 'Never', containers: [{ name: 'main', image: next }] });
    expect(await sync(pod)).toEqual(['killContainer main', 'startContainer main']);
    expect(acts()).toEqual([
      'stopContainer container2',
      'pullImage',
      'createContainer main#1',
      expect.stringContaining('startContainer'),
    ]);
    expect(recorded()).toContain('Normal Killing: Container main definition changed, will be restarted');
  });

  test('that fails its liveness probe is killed with the grace of the probe and started again', async () => {
    const livenessProbe = { exec: { command: ['x'] }, terminationGracePeriodSeconds: 7 };
    const pod = podWith({ containers: [container('main', { livenessProbe })] });
    await sync(pod);
    const failed = ({ containerStatuses }: RuntimePodStatus): Partial<ProbeResults> => ({
      liveness: new Map(containerStatuses.map(({ id }) => [id, 'failure' as const])),
    });
    expect(await sync(pod, failed)).toEqual(['killContainer main', 'startContainer main']);
    expect(runtime.requestsOf('stopContainer').map(({ timeout }) => timeout)).toEqual([7n]);
  });

  test('that ends again and again waits longer each time, and says until when', async () => {
    const pod = podWith();
    await sync(pod);
    exit('main', 1);
    expect(await sync(pod)).toEqual(['startContainer main']);
    exit('main', 1);
    const waiting = 'back-off 10s restarting failed container=main pod=web-edge1_default(u1)';
    expect(await sync(pod)).toEqual([`startContainer main CrashLoopBackOff ${waiting}`]);
    await clock.advance(9999);
    expect(await sync(pod)).toEqual([`startContainer main CrashLoopBackOff ${waiting}`]);
    await clock.advance(1);
    expect(await sync(pod)).toEqual(['startContainer main']);
    exit('main', 0);
    expect((await sync(pod)).join()).toContain('back-off 20s restarting');
  });

  test('that ran for more than ten minutes starts over with its back-off', async () => {
    const pod = podWith();
    await sync(pod);
    for (const ranForMs of [0, 600_001]) {
      await clock.advance(ranForMs);
      exit('main', 1);
      expect(await sync(pod)).toEqual(['startContainer main']);
    }
  });

  test.each([
    ['CreateContainerError', 'createContainer'],
    ['RunContainerError', 'startContainer'],
    ['ImageInspectError', 'imageStatus'],
  ] as const)('that fails with %s does not hold back the others', async (reason, method) => {
    runtime.injectError(method, refused);
    const pod = podWith({ containers: [container('a'), container('b')] });
    const [a, b] = (await sync(pod)).slice(-2);
    expect(a).toMatch(new RegExp(`^startContainer a ${reason} .*refused$`));
    expect(b).toBe('startContainer b');
    expect(recorded().filter((text) => text.startsWith('Warning Failed: Error: '))).toHaveLength(1);
  });

  test('whose environment cannot be made fails with CreateContainerConfigError before anything is created', async () => {
    const env = [{ name: 'X', valueFrom: { configMapKeyRef: { name: 'none', key: 'k' } } }];
    const pod = podWith({ containers: [container('a', { env }), container('b')] });
    const [a, b] = (await sync(pod)).slice(-2);
    expect(a).toMatch(/^startContainer a CreateContainerConfigError /);
    expect(b).toBe('startContainer b');
    expect(acts().filter((act) => act.startsWith('create'))).toEqual(['createContainer b#0']);
  });

  test('that was created and could not be started is made again, and counts as a restart', async () => {
    runtime.injectError('startContainer', refused);
    const pod = podWith();
    await sync(pod);
    expect(await sync(pod)).toEqual(['startContainer main']);
    expect(runtime.running()).toEqual(['web-edge1/main#1']);
  });

  test('in an unknown state is killed before it is started again', async () => {
    const pod = podWith();
    await sync(pod);
    acts();
    const podStatus = await runtimePods.getPodStatus('u1');
    const unknown = podStatus.containerStatuses.map((status) => ({ ...status, state: 'unknown' as const }));
    const results = await manager.syncPod({
      pod,
      podStatus: { ...podStatus, containerStatuses: unknown },
      probes: noProbeResults,
      volumes: new Map(),
      recorder: podEventRecorder(events.emit, pod),
      signal: new AbortController().signal,
    });
    expect(results.map(({ action }) => action)).toEqual(['killContainer', 'startContainer']);
    expect(runtime.maxConcurrentRunning('web-edge1', 'main')).toBe(1);
  });
});

describe('a failure', () => {
  test('to make the sandbox starts nothing', async () => {
    runtime.injectError('runPodSandbox', refused);
    expect(await sync(podWith())).toEqual([
      'killPod web-edge1',
      'createPodSandbox web-edge1_default(u1) CreatePodSandboxError refused',
    ]);
    expect(recorded()).toEqual(['Warning FailedCreatePodSandBox: Failed to create pod sandbox: refused']);
    expect(acts()).toEqual(['runPodSandbox web-edge1#0']);
  });

  test('to read the resolver file is an event with the fix, and the pod starts once the file is there', async () => {
    const resolvConf = join(node.podLogsDir, 'resolv.conf');
    node = { ...node, resolvConf };
    manager = makeManager();
    const message = `cannot read the resolver file of this node: ENOENT: no such file or directory, open '${resolvConf}'`;
    expect(await sync(podWith())).toEqual([
      'killPod web-edge1',
      `configPodSandbox web-edge1_default(u1) ConfigPodSandboxError ${message}`,
    ]);
    expect(recorded()).toEqual([`Warning FailedCreatePodSandBox: Failed to create pod sandbox: ${message}`]);
    expect(acts()).toEqual([]);
    await mkdir(node.podLogsDir, { recursive: true });
    await writeFile(resolvConf, 'nameserver 192.0.2.53\n');
    expect((await sync(podWith())).at(-1)).toBe('startContainer main');
  });

  test('to read the resolver file does not concern a pod that names its servers itself', async () => {
    node = { ...node, resolvConf: '/missing/resolv.conf' };
    manager = makeManager();
    const pod = podWith({ dnsPolicy: 'None', dnsConfig: { nameservers: ['192.0.2.53'] } });
    expect((await sync(pod)).at(-1)).toBe('startContainer main');
  });

  test('to kill a container ends the sync', async () => {
    await sync(podWith());
    acts();
    runtime.injectError('stopContainer', refused);
    const pod = podWith({ containers: [{ name: 'main', image: 'registry.example/app:2' }] });
    expect(await sync(pod)).toEqual(['killContainer main KillContainerError refused']);
    expect(acts()).toEqual(['stopContainer container2']);
  });

  test('to stop the old sandbox makes no new one', async () => {
    const pod = podWith();
    await sync(pod);
    await loseSandbox();
    acts();
    runtime.injectError('stopPodSandbox', refused);
    expect(await sync(pod)).toEqual(['killPod web-edge1 KillPodSandboxError refused']);
    expect(acts()).toEqual(['stopPodSandbox']);
  });

  test('of an init container starts nothing after it', async () => {
    runtime.injectError('createContainer', refused);
    const pod = podWith({ initContainers: [container('one')] });
    expect((await sync(pod)).at(-1)).toBe('startContainer one CreateContainerError refused');
    expect(runtime.running()).toEqual([]);
  });

  test('of a sidecar does not keep the others from starting', async () => {
    const sidecars = [container('a', { restartPolicy: 'Always' }), container('b', { restartPolicy: 'Always' })];
    const pod = podWith({ initContainers: sidecars });
    for (let round = 0; round < 3; round++) await sync(pod);
    for (const name of ['a', 'b']) exit(name, 1);
    runtime.injectError('createContainer', refused, { when: ({ config }) => config?.metadata?.name === 'a' });
    await sync(pod);
    expect(runtime.running()).toEqual(['web-edge1/b#1', 'web-edge1/main#0']);
  });
});

describe('a pod that lost its sandbox', () => {
  test('gets another one and runs its init containers again, their old ends removed', async () => {
    const pod = podWith({ initContainers: [container('one')] });
    await sync(pod);
    exit('one', 0);
    await sync(pod);
    await loseSandbox();
    acts();
    expect(await sync(pod)).toEqual([
      'killPod web-edge1',
      'createPodSandbox web-edge1_default(u1)',
      'startContainer one',
    ]);
    expect(acts()).toEqual([
      'stopPodSandbox',
      'removeContainer container2',
      'runPodSandbox web-edge1#1',
      'createContainer one#1',
      expect.stringMatching(/^startContainer /),
    ]);
    expect(recorded()).toContain('Normal SandboxChanged: Pod sandbox changed, it will be killed and re-created.');
  });

  test('counts the restarts of its init containers on, though the first try to make another one fails', async () => {
    const pod = podWith({ initContainers: [container('one')] });
    const folder = containerLogsDirectory(node.podLogsDir, pod.metadata, 'one');
    const write = (name: string): Promise<void> => writeFile(join(folder, name), '');
    const started: string[] = [];
    await sync(pod);
    await write('0.log');
    for (const log of ['1.log', '2.log']) {
      exit('one', 0);
      await sync(pod);
      await loseSandbox();
      runtime.injectError('runPodSandbox', refused);
      await sync(pod);
      await sync(pod);
      started.push(...runtime.running());
      await write(log);
    }
    expect(started).toEqual(['web-edge1/one#1', 'web-edge1/one#2']);
    expect(await readdir(folder)).toEqual(['1.log', '2.log']);
  });

  test('and is done with restartPolicy Never gets none', async () => {
    const pod = podWith({ restartPolicy: 'Never' });
    await sync(pod);
    await loseSandbox();
    acts();
    expect(await sync(pod)).toEqual(['killPod web-edge1']);
    expect(acts()).toEqual(['stopPodSandbox']);
  });
});

describe('a sandbox that is broken at once', () => {
  const faults = [
    {
      fault: 'dies',
      message: 'the pod sandbox exited within a second of its start',
      breaks: (): void => {
        runtime.killSandbox('web-edge1');
      },
    },
    {
      fault: 'has no address',
      message: 'the container runtime gave the pod sandbox no IP address',
      breaks: (): void => undefined,
    },
  ];

  test.each(faults)('is replaced later and later if it $fault, with the cause as an event', async (row) => {
    const { fault, message, breaks } = row;
    if (fault === 'has no address') runtime.scriptPodIPs(() => []);
    const pod = podWith();
    const counts: number[] = [];
    for (let tenths = 0; tenths < 80; tenths++) {
      await sync(pod);
      counts.push(runtime.requestsOf('runPodSandbox').length);
      if ((await runtimePods.getPodStatus('u1')).sandboxStatuses[0]?.state === 'ready') breaks();
      await clock.advance(100);
    }
    expect([0, 9, 10, 29, 30, 69, 70].map((tenths) => counts[tenths])).toEqual([1, 1, 2, 2, 3, 3, 4]);
    expect(recorded()).toContain(`Warning FailedCreatePodSandBox: Failed to create pod sandbox: ${message}`);
    // Each is stopped once, before the next is made.
    const stopped = runtime.requestsOf('stopPodSandbox').map(({ podSandboxId }) => podSandboxId);
    expect(stopped).toEqual([...new Set(stopped)]);
  });

  test('starts no container without an address, and all once it has one', async () => {
    runtime.scriptPodIPs(() => []);
    const pod = podWith({ restartPolicy: 'Never' });
    const failure =
      'createPodSandbox web-edge1_default(u1) CreatePodSandboxError ' +
      'the container runtime gave the pod sandbox no IP address';
    expect(await sync(pod)).toEqual(['killPod web-edge1', failure]);
    expect(await sync(pod)).toEqual([failure]);
    runtime.scriptPodIPs(() => ['10.88.0.9']);
    await clock.advance(1000);
    expect((await sync(pod)).at(-1)).toBe('startContainer main');
    expect(runtime.running()).toEqual(['web-edge1/main#0']);
  });
});

describe('a sandbox that is there already', () => {
  test('is not warned about again', async () => {
    node = { ...node, clusterDNS: [] };
    manager = makeManager();
    const pod = podWith();
    await sync(pod);
    await sync(pod);
    await sync(pod);
    expect(recorded().filter((text) => text.includes('MissingClusterDNS'))).toHaveLength(1);
  });
});

describe('killPod', () => {
  const kill = async (pod: Pod, graceOverride?: number): Promise<void> => {
    const podStatus = await runtimePods.getPodStatus('u1');
    const recorder = podEventRecorder(events.emit, pod);
    await manager.killPod({ pod, podStatus, recorder, gracePeriodOverride: graceOverride });
  };
  /** The order in which containers were told to stop, with the seconds they got. */
  const stops = async (): Promise<string[]> => {
    const { containerStatuses } = await runtimePods.getPodStatus('u1');
    const nameOf = (id: string): string => containerStatuses.find((status) => status.id === id)?.name ?? id;
    return runtime.calls
      .filter(({ method }) => method === 'stopContainer' || method === 'stopPodSandbox')
      .map(({ method, request }) => {
        if (method === 'stopPodSandbox') return 'sandbox';
        const { containerId, timeout } = request as { containerId: string; timeout: bigint };
        return `${nameOf(containerId)} ${timeout.toString()}s`;
      });
  };
  const withSidecars = (): Pod =>
    podWith({
      terminationGracePeriodSeconds: 10,
      initContainers: [container('s1', { restartPolicy: 'Always' }), container('s2', { restartPolicy: 'Always' })],
    });
  const running = async (pod: Pod): Promise<Pod> => {
    for (let round = 0; round < 4; round++) await sync(pod);
    return pod;
  };

  test('stops the containers side by side with the grace of the pod, then the sandbox', async () => {
    const pod = await running(podWith({ containers: [container('a'), container('b')] }));
    const release = runtime.hang('stopContainer');
    const killing = kill(pod);
    await clock.advance(0);
    expect(await stops()).toEqual(['b 30s', 'a 30s']);
    release();
    await killing;
    expect(await stops()).toEqual(['b 30s', 'a 30s', 'sandbox']);
    expect(recorded().slice(-2)).toEqual([
      'Normal Killing: Stopping container b',
      'Normal Killing: Stopping container a',
    ]);
  });

  test('stops sidecars after what they serve, the last one first, with what is left of the grace', async () => {
    const pod = await running(withSidecars());
    runtime.script('main', { stopAfterMs: 3000 });
    runtime.script('s2', { stopAfterMs: 1500 });
    const killing = kill(pod);
    await clock.advance(2999);
    expect(await stops()).toEqual(['main 10s']);
    await clock.advance(10_000);
    await killing;
    expect(await stops()).toEqual(['main 10s', 's2 7s', 's1 6s', 'sandbox']);
  });

  test('does not wait for a container longer than the grace, and gives each sidecar at least two seconds', async () => {
    const pod = await running(withSidecars());
    for (const name of ['main', 's1', 's2']) runtime.script(name, { stopAfterMs: Infinity });
    const killing = kill(pod);
    await clock.advance(60_000);
    await killing;
    expect(await stops()).toEqual(['main 10s', 's2 2s', 's1 2s', 'sandbox']);
    expect(runtime.running()).toEqual([]);
  });

  test('gives a shorter grace that is asked for, but no less than two seconds', async () => {
    const pod = await running(podWith());
    await kill(pod, 1);
    expect(await stops()).toEqual(['main 2s', 'sandbox']);
  });

  test('stops the sandbox though a container cannot be stopped, and fails', async () => {
    const pod = await running(podWith());
    runtime.injectError('stopContainer', refused);
    await expect(kill(pod)).rejects.toThrow('refused');
    expect(await stops()).toEqual(['main 30s', 'sandbox']);
  });

  test('finds nothing wrong with what is gone already', async () => {
    const pod = await running(podWith());
    const gone = new Refusal(codes.notFound, 'no such container');
    runtime.injectError('stopContainer', gone);
    runtime.injectError('stopPodSandbox', gone);
    await kill(pod);
  });
});
