import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { openChannel } from '../../../src/cri/grpc-channel.ts';
import { grpcService } from '../../../src/cri/grpc-service.ts';
import { errorMessage, RpcError } from '../../../src/errors.ts';
import { FileSource } from '../../../src/engine/config/file/file-source.ts';
import { newStats } from '../../../src/engine/build/new-stats.ts';
import { nodeConfig } from '../../../src/node/node-config.ts';
import { openPlugins } from '../../../src/plugins/open-plugins.ts';
import { PodResourcesListerDefinition } from '../../../src/plugins/generated/pod-resources.ts';
import { makeMachine } from '../../builders/machine.ts';
import { fixedNode } from '../../builders/node-config.ts';
import { type Engine, World } from '../../component/world.ts';
import { FakePlugin, type PluginCall } from '../../fakes/fake-plugin.ts';
import { silentFaults } from '../../fakes/silent-faults.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { scriptPods } from '../server/recorded-pods.ts';
import { optionsOf } from '../start-case.ts';
import {
  callText,
  comparableCreated,
  comparableSnapshot,
  inOrder,
  ownCheckpoint,
  ownPod,
  recordedCalls,
} from './comparable.ts';
import type { Created, DeviceRecording, DeviceSnapshot, Step } from './device-recording.ts';
import { listedDevices, scriptPlugin } from './plugin-script.ts';
import { machineOf, recordedManagers } from './recorded-managers.ts';

interface Booted {
  engine: Engine;
  source: FileSource;
}

interface Comparable {
  expected: Record<string, unknown>;
  actual: Record<string, unknown>;
}

/** Plays a scenario with a running engine, and compares every snapshot, the order of the calls, and the containers. */
export async function replayDevices(recording: DeviceRecording): Promise<Comparable> {
  const node = await DeviceNode.open(recording);
  try {
    return await node.play();
  } finally {
    await node.end();
  }
}

class DeviceNode {
  readonly #recording: DeviceRecording;
  readonly #world: World;
  readonly #boot: () => Promise<Booted>;
  readonly #plugins = new Map<string, { plugin: FakePlugin; resource: string; path: string }>();
  readonly #calls: string[] = [];
  #booted: Booted | undefined;
  /** When the kubelet was ready first. */
  #startedAt: number | undefined;
  #runtimeCalls = 0;

  private constructor(recording: DeviceRecording, world: World, boot: () => Promise<Booted>) {
    this.#recording = recording;
    this.#world = world;
    this.#boot = boot;
  }

  static async open(recording: DeviceRecording): Promise<DeviceNode> {
    const folder = await mkdtemp(join(tmpdir(), 'golden-devices-'));
    await mkdir(join(folder, 'manifests'));
    const options = {
      ...(await optionsOf([
        `--root-dir=${join(folder, 'root')}`,
        `--pod-manifest-path=${join(folder, 'manifests')}`,
        '--hostname-override=edge1',
        '--sync-frequency=5s',
        // Recorded from kubelet 1.32.
        '--feature-gates=KubeletPodResourcesListUseActivePods=false',
        ...(recording.flags ?? []),
      ])),
      podLogsDir: join(folder, 'pod-logs'),
    };
    const world = await World.open({ wire: true, folder });
    scriptPods(world, Object.values(recording.manifests));
    const { cpus } = recording;
    const machine = cpus === undefined ? makeMachine() : machineOf(cpus);
    const node = { ...nodeConfig(options, machine, fixedNode), containerLogLinksDir: join(folder, 'log-links') };
    const { clock } = world;
    const podResources = await recordedManagers(options, { machine, node, clock });
    const statsHost = { cgroups: {}, procFolder: join(folder, 'proc'), runtimePID: () => undefined };
    const plugins = openPlugins({ faults: silentFaults(), clock });
    return new DeviceNode(recording, world, async () => {
      const source = new FileSource({
        ...options,
        paths: options.manifestPaths,
        fileCheckFrequencyMs: options.fileCheckFrequency,
        clock,
        logger: silentLogger,
      });
      return {
        engine: await world.boot({ sources: [source], node, statsHost, newStats, podResources, plugins }),
        source,
      };
    });
  }

  async end(): Promise<void> {
    for (const { plugin } of this.#plugins.values()) plugin.crash();
    await this.#world.end();
    await rm(this.#world.folder, { recursive: true, force: true });
  }

  async play(): Promise<Comparable> {
    const { snapshots, gets = [] } = this.#recording;
    const seen: Record<string, unknown> = {};
    const wanted: Record<string, unknown> = {};
    const steps = [
      // A snapshot comes before what was done after it at the same time.
      ...snapshots.map((snapshot) => ({ t: snapshot.t, step: undefined, snapshot })),
      ...this.#recording.sequence.map((step) => ({ t: step.t, step, snapshot: undefined })),
    ].sort((a, b) => a.t - b.t);
    for (const { t, step, snapshot } of steps) {
      await this.#passTo(t);
      if (step !== undefined) await this.#do(step);
      else {
        wanted[snapshot.label] = comparableSnapshot(snapshot);
        seen[snapshot.label] = await this.#seenAbout(wanted[snapshot.label], snapshot);
      }
    }
    return {
      expected: {
        ...wanted,
        gets: gets.map(({ answer }) => answer),
        calls: recordedCalls(this.#recording),
        created: comparableCreated(this.#recording.created),
      },
      actual: { ...seen, gets: await this.#answersTo(gets), calls: this.#allCalls(), created: this.#created() },
    };
  }

  async #answersTo(gets: NonNullable<DeviceRecording['gets']>): Promise<object[]> {
    const answers: object[] = [];
    for (const { request } of gets) answers.push(asRecorded(await ask(this.#podResourcesSocket, 'get', request)));
    return answers;
  }

  get #podResourcesSocket(): string {
    return join(this.#world.rootDir, 'pod-resources', 'kubelet.sock');
  }

  get #elapsed(): number {
    const now = this.#world.clock.monotonic();
    return (now - (this.#startedAt ?? now)) / 1000;
  }

  async #passTo(t: number): Promise<void> {
    const ms = (t - this.#elapsed) * 1000;
    if (this.#startedAt !== undefined && ms > 0) await this.#world.pass(ms);
  }

  async #do(step: Step): Promise<void> {
    const { folder, runtime } = this.#world;
    const [, verb, file, how] = /^(manifest) (\S+) (written|removed)$/.exec(step.did ?? '') ?? [];
    if (verb !== undefined && file !== undefined) {
      this.#reorder(step.t);
      const path = join(folder, 'manifests', file);
      if (how === 'removed') await rm(path);
      else await writeFile(path, this.#recording.manifests[file] ?? '');
      await this.#settled();
    } else if (step.did === 'kubelet killed') await this.#stopEngine();
    else if (step.did === 'kubelet started') await this.#startEngine();
    else if (step.did === 'Register') await this.#register(step);
    else if (step.did === 'stopped' || step.did?.includes('removed') === true) await this.#stopPlugin(step);
    else if (step.did === 'sent devices') this.#send(step.plugin ?? 'p', step.t);
    else if (step.event === 'exit' && step.code === 137)
      runtime.exitContainer({ pod: (step.pod ?? '').replace('default/', ''), container: step.container ?? '' }, 137);
    else if (step.call === 'GetInfo' && !this.#plugins.has(step.plugin ?? '')) await this.#present(step);
  }

  async #startEngine(): Promise<void> {
    await this.#stopEngine();
    this.#booted = await this.#boot();
    await this.#world.until(async () => (await ask(this.#podResourcesSocket, 'list')).error === undefined);
    this.#startedAt ??= this.#world.clock.monotonic();
  }

  async #stopEngine(): Promise<void> {
    await this.#booted?.engine.kill();
    this.#booted = undefined;
  }

  /** Makes the plugin as it is when it registers. */
  async #plugin(step: Step, resource: string, path: string): Promise<FakePlugin> {
    const name = step.plugin ?? 'p';
    const plugin = new FakePlugin();
    scriptPlugin(plugin, { recording: this.#recording, name, resource, elapsed: () => this.#elapsed });
    plugin.onCall = (call) => {
      this.#note(name, call);
    };
    this.#plugins.set(name, { plugin, resource, path });
    this.#send(name, step.t);
    await plugin.listen(path);
    return plugin;
  }

  async #register(step: Step): Promise<void> {
    const folder = join(this.#world.rootDir, 'device-plugins');
    const {
      endpoint = '',
      resource_name: resourceName = '',
      version = '',
    } = (step.request ?? {}) as Record<string, string>;
    const isGood = step.answer?.ok === true;
    const known = this.#plugins.get(step.plugin ?? 'p');
    const plugin =
      known?.path === join(folder, endpoint)
        ? known.plugin
        : isGood
          ? await this.#plugin(step, resourceName, join(folder, endpoint))
          : new FakePlugin();
    const answer = plugin.register(join(folder, 'kubelet.sock'), { endpoint, resourceName, version });
    const error = isGood ? await answer : await this.#whileTimePasses(answer);
    if (isGood && error === undefined) await this.#called(plugin, 'listAndWatch');
    this.#calls.push(`Register ${resourceName} at ${endpoint}: ${error === undefined ? 'ok' : errorMessage(error)}`);
    await this.#settled();
  }

  async #present(step: Step): Promise<void> {
    const notices = this.#recording.sequence.filter(({ call }) => call === 'NotifyRegistrationStatus');
    const error = notices.map(({ request }) => (request?.['error'] as string | undefined) ?? '').join('\n');
    const [, type = 'DevicePlugin'] = /plugin type: (\S+) at/.exec(error) ?? [];
    const [, versions = 'v1beta1'] = /supported versions \[(.*?)\]/.exec(error) ?? [];
    const [, resource = 'example.com/dev'] = /the ResourceName "(.*?)" is invalid/.exec(error) ?? [];
    const path = join(this.#world.rootDir, 'plugins_registry', `${step.plugin ?? 'p'}.sock`);
    const plugin = await this.#plugin(step, resource, path);
    plugin.info = { type, name: resource, supportedVersions: versions.split(' ').filter((one) => one !== '') };
    await plugin.calls.next(({ call }) => call === 'getInfo');
    if (notices.length > 0) await this.#called(plugin, 'notifyRegistrationStatus');
    if (notices.some(({ request }) => request?.['plugin_registered'] === true))
      await this.#called(plugin, 'listAndWatch');
  }

  async #stopPlugin({ plugin: name = 'p', t }: Step): Promise<void> {
    const known = this.#plugins.get(name);
    this.#plugins.delete(name);
    await known?.plugin.stop(known.path);
    if (this.#isRestarting(t)) await this.#stopEngine();
    await this.#settled();
  }

  /** True if the kubelet starts again soon. Its end is not always recorded. */
  #isRestarting(t: number): boolean {
    const next = this.#recording.sequence.find(
      (step) => step.t >= t && step.t < t + 3 && step.did?.startsWith('kubelet ') === true,
    );
    return next?.did === 'kubelet started';
  }

  #reorder(t: number): void {
    for (const name of this.#plugins.keys()) this.#send(name, t);
  }

  #send(name: string, t: number): void {
    const known = this.#plugins.get(name);
    known?.plugin.send(listedDevices(this.#recording, name, known.resource, t));
  }

  async #called(plugin: FakePlugin, method: string): Promise<void> {
    await this.#whileTimePasses(plugin.calls.next(({ call }) => call === method));
  }

  /** Waits until the engine has seen the manifests and the plugins. */
  async #settled(): Promise<void> {
    await this.#whileTimePasses(this.#booted?.source.settle());
  }

  async #whileTimePasses<T>(promise: Promise<T> | undefined): Promise<T | undefined> {
    let isSettled = promise === undefined;
    const settled = promise?.finally(() => {
      isSettled = true;
    });
    await this.#world.until(() => isSettled);
    return settled;
  }

  #note(plugin: string, { call, request }: PluginCall): void {
    this.#noteRuntime();
    const line = callText(plugin, `${call.slice(0, 1).toUpperCase()}${call.slice(1)}`, asRecorded(request));
    if (line !== undefined) this.#calls.push(line);
  }

  /** The runtime's calls up to now. */
  #noteRuntime(): void {
    const { calls } = this.#world.runtime;
    for (const { method, request } of calls.slice(this.#runtimeCalls)) {
      if (method === 'runPodSandbox') this.#calls.push(`RunPodSandbox ${podOf((request as Sandboxed).config)}`);
      if (method !== 'createContainer') continue;
      const { sandboxConfig, config } = request as Sandboxed & { sandboxConfig: Sandboxed['config'] };
      this.#calls.push(`CreateContainer ${podOf(sandboxConfig)}/${config?.metadata?.name ?? ''}`);
    }
    this.#runtimeCalls = calls.length;
  }

  #allCalls(): string[] {
    this.#noteRuntime();
    return inOrder(this.#calls);
  }

  /** Recorded times are right within about a second. */
  async #seenAbout(wanted: unknown, snapshot: DeviceSnapshot): Promise<unknown> {
    const seen = await this.#seen(snapshot);
    if (isDeepStrictEqual(seen, wanted)) return seen;
    await this.#world.pass(1000);
    return this.#seen(snapshot);
  }

  /** The recorded members of a snapshot as they are now. */
  async #seen({ pods: recordedPods, checkpoint, podresources }: DeviceSnapshot): Promise<unknown> {
    const socket = this.#podResourcesSocket;
    const { name, namespace } = podresources.Get.pod_resources ?? {};
    const [list, allocatable, get] = await Promise.all([
      ask(socket, 'list'),
      ask(socket, 'getAllocatableResources'),
      ask(socket, 'get', { ...(name && { pod_name: name }), ...(namespace && { pod_namespace: namespace }) }),
    ]);
    const pods = this.#booted?.engine.kubelet.snapshot().pods ?? [];
    const uids = new Map(pods.map(({ pod }) => [pod.metadata.uid, `{uid:${pod.metadata.name}}`]));
    const file = await readFile(
      join(this.#world.rootDir, 'device-plugins', 'kubelet_internal_checkpoint'),
      'utf8',
    ).catch(() => undefined);
    const statuses = Object.fromEntries(pods.map(({ pod: { metadata, status } }) => [metadata.name, ownPod(status)]));
    return comparableSnapshot({
      podresources: { List: asRecorded(list), GetAllocatableResources: asRecorded(allocatable), Get: asRecorded(get) },
      ...(file !== undefined && checkpoint !== undefined && { checkpoint: ownCheckpoint(file, uids) }),
      pods: Object.fromEntries(Object.keys(recordedPods).map((pod) => [pod, statuses[pod] ?? {}])),
    } as never);
  }

  #created(): unknown {
    const requests = this.#world.runtime.calls.filter(({ method }) => method === 'createContainer');
    return comparableCreated(requests.map(({ request }) => ownCreated(request as Creation, this.#world.rootDir)));
  }
}

interface Sandboxed {
  config?: { metadata?: { namespace?: string; name?: string; uid?: string } };
}

const podOf = (config: Sandboxed['config']): string =>
  `${config?.metadata?.namespace ?? ''}/${config?.metadata?.name ?? ''}`;

interface Creation {
  sandboxConfig?: Sandboxed['config'];
  config: {
    metadata?: { name?: string };
    devices: { containerPath: string; hostPath: string; permissions: string }[];
    CDIDevices: object[];
    envs: { key: string; value: Uint8Array }[];
    mounts: { containerPath: string; hostPath: string; readonly: boolean }[];
    annotations: Record<string, string>;
  };
}

function ownCreated({ sandboxConfig, config }: Creation, rootDir: string): Created {
  const { uid = '', name = '' } = sandboxConfig?.metadata ?? {};
  const place = (path: string): string =>
    path
      .replace(rootDir, '{root}')
      .replace(uid, `{uid:${name}}`)
      .replace(/(\/containers\/[^/]+\/)\w+$/, '$1{rand}');
  return {
    pod: podOf(sandboxConfig),
    container: config.metadata?.name ?? '',
    devices: config.devices.map((one) => ({
      container_path: one.containerPath,
      host_path: one.hostPath,
      permissions: one.permissions,
    })),
    CDI_devices: config.CDIDevices,
    envs: config.envs.map(({ key, value }) => ({ key, value: Buffer.from(value).toString() })),
    mounts: config.mounts.map(({ containerPath, hostPath, readonly }) => ({
      container_path: containerPath,
      host_path: place(hostPath),
      readonly,
    })),
    annotations: config.annotations,
  };
}

type GetRequest = NonNullable<DeviceRecording['gets']>[number]['request'];

/** Asks for the resources of pods. */
async function ask(
  socket: string,
  method: 'list' | 'getAllocatableResources' | 'get',
  { pod_name: podName = '', pod_namespace: podNamespace = '' }: GetRequest = {},
): Promise<{ error?: RpcError; [answer: string]: unknown }> {
  const channel = openChannel(socket);
  try {
    const service = grpcService(channel, PodResourcesListerDefinition, () => 5000);
    const answer = method === 'get' ? await service.get({ podName, podNamespace }) : await service[method]({});
    return { ...answer };
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    return { error };
  } finally {
    channel.close();
  }
}

/** A message with the names of the proto, without what has its zero value. */
function asRecorded(message: unknown): Record<string, unknown> {
  return plain(message) as Record<string, unknown>;
}

function plain(value: unknown): unknown {
  if (value instanceof RpcError)
    return { code: value.code === 2 ? 'UNKNOWN' : String(value.code), message: value.message };
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]) => {
      const isZero = member === '' || member === 0n || member === 0 || member === false || member === undefined;
      return isZero || (Array.isArray(member) && member.length === 0) ? [] : [[protoName(key), plain(member)]];
    }),
  );
}

/** Such as devices_ids for devicesIds. Ids in capitals stay. */
function protoName(key: string): string {
  const [, kept = ''] = /(DeviceIDs|ID)$/.exec(key) ?? [];
  const rest = key.slice(0, key.length - kept.length).replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return kept === 'DeviceIDs' ? `${rest}_deviceIDs` : `${rest}${kept}`;
}
