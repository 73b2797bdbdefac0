import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { RpcError } from '../../src/errors.ts';
import { isDeadlineExceeded, isNotFound, isUnavailable, isUnimplemented } from '../../src/cri/errors.ts';
import {
  CreateContainerRequest,
  MountPropagation,
  NamespaceMode,
  PodSandboxState,
  RunPodSandboxRequest,
  SecurityProfile_ProfileType,
  type ContainerEventResponse,
  type DeepPartial,
} from '../../src/cri/generated/cri.ts';
import { openChannel, type Channel } from '../../src/cri/grpc-channel.ts';
import { grpcImageService } from '../../src/cri/grpc-image-service.ts';
import { grpcRuntimeService } from '../../src/cri/grpc-runtime-service.ts';
import type { ImageService } from '../../src/cri/image-service.ts';
import type { RuntimeService } from '../../src/cri/runtime-service.ts';
import { FakeCriServer } from '../fakes/fake-cri-server.ts';
import { FakeRuntime } from '../fakes/fake-runtime.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let folder: string;
let socketPath: string;
let runtime: FakeRuntime;
let server: FakeCriServer;
let channel: Channel;
let runtimeService: RuntimeService;
let imageService: ImageService;

beforeEach(async () => {
  folder = await temporaryFolder();
  socketPath = join(folder, 'cri.sock');
  runtime = new FakeRuntime({ clock: systemClock });
  server = new FakeCriServer(runtime);
  await server.start({ socketPath });
  channel = openChannel(socketPath);
  runtimeService = grpcRuntimeService(channel);
  imageService = grpcImageService(channel);
});

afterEach(() => {
  channel.close();
  server.stop();
});

const sandboxRequest = (uid: string): DeepPartial<RunPodSandboxRequest> => ({
  config: {
    metadata: { name: 'web-edge1', namespace: 'default', uid, attempt: 2 },
    labels: { 'io.kubernetes.pod.uid': uid, 'example.com/größe': '' },
    dnsConfig: { servers: ['192.0.2.53'], options: ['ndots:5'] },
    linux: {
      cgroupParent: '/kubepods/burstable',
      securityContext: {
        namespaceOptions: { network: NamespaceMode.POD, pid: NamespaceMode.CONTAINER, ipc: NamespaceMode.POD },
        runAsUser: { value: 0n },
        supplementalGroups: [1n, 9_007_199_254_740_993n],
        seccomp: { profileType: SecurityProfile_ProfileType.Localhost, localhostRef: 'profiles/strict.json' },
      },
      sysctls: { 'net.ipv4.ip_unprivileged_port_start': '0' },
    },
  },
  runtimeHandler: 'runc',
});

const containerRequest = (podSandboxId: string): DeepPartial<CreateContainerRequest> => ({
  podSandboxId,
  config: {
    metadata: { name: 'main', attempt: 1 },
    image: { image: 'app:1', annotations: { 'io.kubernetes.image': 'app' } },
    command: ['/bin/sh', '-c', 'echo "$GREETING"\n'],
    envs: [{ key: 'GREETING', value: Buffer.from([0xff, 0x00, 0x68, 0x69]) }],
    mounts: [{ hostPath: '/srv', containerPath: '/srv', propagation: MountPropagation.PROPAGATION_BIDIRECTIONAL }],
    linux: { resources: { cpuQuota: -1n, oomScoreAdj: -997n, unified: { 'memory.high': '1048576' } } },
    CDIDevices: [{ name: 'example.com/device=1' }],
  },
  sandboxConfig: sandboxRequest('u1').config,
});

describe('messages', () => {
  test('arrive as they were sent, whatever kind of field they have', async () => {
    runtime.addImage('app:1');
    const { podSandboxId } = await runtimeService.runPodSandbox(sandboxRequest('u1'));
    await runtimeService.createContainer(containerRequest(podSandboxId));
    expect(runtime.calls.map(({ method, request }) => ({ method, request }))).toEqual([
      { method: 'runPodSandbox', request: RunPodSandboxRequest.fromPartial(sandboxRequest('u1')) },
      { method: 'createContainer', request: CreateContainerRequest.fromPartial(containerRequest(podSandboxId)) },
    ]);
  });

  test('come back as the runtime has them', async () => {
    runtime.addImage('app:1', { size: 5_000_000_000n, uid: { value: 0n } });
    runtime.scriptExec(() => ({ stdout: Buffer.from([0, 1, 254, 255]), exitCode: 7 }));
    const { podSandboxId } = await runtimeService.runPodSandbox(sandboxRequest('u1'));
    const { containerId } = await runtimeService.createContainer(containerRequest(podSandboxId));
    await runtimeService.startContainer({ containerId });

    expect(await runtimeService.podSandboxStatus({ podSandboxId })).toEqual(
      await runtime.podSandboxStatus({ podSandboxId }),
    );
    expect(await runtimeService.containerStatus({ containerId })).toEqual(
      await runtime.containerStatus({ containerId }),
    );
    expect(await runtimeService.execSync({ containerId })).toEqual(await runtime.execSync({ containerId }));
    expect(await runtimeService.status()).toEqual(await runtime.status());
    expect(await imageService.imageStatus({ image: { image: 'app:1' } })).toEqual(
      await runtime.imageStatus({ image: { image: 'app:1' } }),
    );
  });

  test('may have several megabytes', async () => {
    const mebibyte = 'x'.repeat(1024 * 1024);
    for (let uid = 0; uid < 12; uid += 1) {
      const { config } = sandboxRequest(String(uid));
      await runtimeService.runPodSandbox({ config: { ...config, annotations: { note: mebibyte } } });
    }
    const { items } = await runtimeService.listPodSandbox();
    expect(items.map(({ annotations }) => annotations['note']?.length)).toEqual(Array(12).fill(mebibyte.length));
  });

  test('are refused above 16 MiB when they come', async () => {
    const { config } = sandboxRequest('u1');
    await runtime.runPodSandbox({ config: { ...config, annotations: { note: 'x'.repeat(16 * 1024 * 1024) } } });
    await expect(runtimeService.listPodSandbox()).rejects.toMatchObject({ method: 'ListPodSandbox', code: 8 });
  });

  test('are refused above 16 MiB', async () => {
    const annotations = { note: 'x'.repeat(16 * 1024 * 1024) };
    const call = runtimeService.runPodSandbox({ config: { annotations } });
    await expect(call).rejects.toMatchObject({ method: 'RunPodSandbox', code: 8 });
    expect(runtime.calls).toEqual([]);
  });
});

describe('a call that fails', () => {
  test('rejects with the status and the words of the runtime', async () => {
    const call = runtimeService.containerStatus({ containerId: 'c1' });
    await expect(call).rejects.toMatchObject({
      name: 'RpcError',
      method: 'ContainerStatus',
      code: 5,
      message: 'container "c1": not found',
    });
    await expect(runtimeService.podSandboxStatus({ podSandboxId: 's1' })).rejects.toSatisfy(isNotFound);
    await expect(runtimeService.checkpointPod()).rejects.toSatisfy(isUnimplemented);
  });

  test('tells a bug of the runtime as an unknown error', async () => {
    runtime.injectError('version', new Error('boom'));
    await expect(runtimeService.version()).rejects.toMatchObject({ code: 2, message: 'boom' });
  });

  test('ends at its deadline when the runtime does not answer', async () => {
    server.pause();
    await expect(runtimeService.version({}, { deadlineMs: 50 })).rejects.toSatisfy(isDeadlineExceeded);
    server.resume();
    expect(await runtimeService.version()).toMatchObject({ runtimeName: 'fake' });
  });

  test('rejects with the reason of its signal, and the runtime lets go of it', async () => {
    const controller = new AbortController();
    const release = runtime.hang('runPodSandbox');
    const call = runtimeService.runPodSandbox(sandboxRequest('u1'), { signal: controller.signal });
    await runtime.waitForCall('runPodSandbox');
    const reason = new Error('pod was deleted');
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    // The server handles messages of a connection in order: once this answers, it has seen the cancellation.
    await runtimeService.version();
    release();
    expect(await runtimeService.listPodSandbox()).toEqual({ items: [] });
  });

  test('is not made at all when its signal is aborted already', async () => {
    const reason = new Error('shutting down');
    await expect(runtimeService.version({}, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(runtime.calls).toEqual([]);
  });

  test('ends when it took longer than a request may', async () => {
    runtime.hang('listImages');
    runtime.hang('status');
    await expect(grpcRuntimeService(channel, 50).status({})).rejects.toSatisfy(isDeadlineExceeded);
    await expect(grpcImageService(channel, 50).listImages({})).rejects.toSatisfy(isDeadlineExceeded);
  });

  test('says that nobody answers when there is no socket', async () => {
    const nowhere = openChannel(join(folder, 'nowhere.sock'));
    await expect(grpcRuntimeService(nowhere).version()).rejects.toSatisfy(isUnavailable);
    nowhere.close();
  });
});

describe('a restart of the runtime', () => {
  test('fails what is in flight, and the same channel finds the same state after it', async () => {
    const { podSandboxId } = await runtimeService.runPodSandbox(sandboxRequest('u1'));
    runtime.hang('stopPodSandbox');
    const inFlight = runtimeService.stopPodSandbox({ podSandboxId });
    await runtime.waitForCall('stopPodSandbox');
    server.stop();
    await expect(inFlight).rejects.toSatisfy(isUnavailable);
    await server.start({ socketPath });
    const { items } = await runtimeService.listPodSandbox();
    expect(items.map(({ id, state }) => ({ id, state }))).toEqual([
      { id: podSandboxId, state: PodSandboxState.SANDBOX_READY },
    ]);
  });
});

describe('the event stream', () => {
  test('brings events as they happen', async () => {
    const events = runtimeService.getContainerEvents()[Symbol.asyncIterator]();
    const first = events.next();
    await runtime.waitForCall('getContainerEvents');
    const { podSandboxId } = await runtimeService.runPodSandbox(sandboxRequest('u1'));
    const seen = [await first, await events.next()].map(({ value }) => value as ContainerEventResponse);
    expect(seen.map(({ containerId, containerEventType }) => [containerId, containerEventType])).toEqual([
      [podSandboxId, 'CONTAINER_CREATED_EVENT'],
      [podSandboxId, 'CONTAINER_STARTED_EVENT'],
    ]);
    await events.return?.();
  });

  test('ends with the reason of its signal', async () => {
    const controller = new AbortController();
    const listening = listen(runtimeService.getContainerEvents({}, { signal: controller.signal }));
    await runtime.waitForCall('getContainerEvents');
    const reason = new Error('shutting down');
    controller.abort(reason);
    await expect(listening).rejects.toBe(reason);
  });

  test('ends with the error of the runtime', async () => {
    const listening = listen(runtimeService.getContainerEvents());
    await runtime.waitForCall('getContainerEvents');
    runtime.endEventStreams(new RpcError('GetContainerEvents', 2, 'events lost'));
    await expect(listening).rejects.toMatchObject({ method: 'GetContainerEvents', code: 2, message: 'events lost' });
  });

  test('ends without an error when the runtime closes it', async () => {
    const listening = listen(runtimeService.getContainerEvents());
    await runtime.waitForCall('getContainerEvents');
    runtime.endEventStreams();
    await listening;
  });

  test('breaks when the runtime goes away and can be opened again', async () => {
    const listening = listen(runtimeService.getContainerEvents());
    await runtime.waitForCall('getContainerEvents');
    server.stop();
    await expect(listening).rejects.toSatisfy(isUnavailable);
    await server.start({ socketPath });
    const again = listen(runtimeService.getContainerEvents());
    await runtime.waitForCall('getContainerEvents');
    runtime.endEventStreams();
    await again;
  });
});

async function listen(events: AsyncIterable<ContainerEventResponse>): Promise<void> {
  for await (const event of events) expect(event.containerId).not.toBe('');
}
