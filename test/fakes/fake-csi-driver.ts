import { mkdir, readdir, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { RpcError } from '../../src/errors.ts';
import { bindMount, isMountPoint, unmountTree } from '../../src/engine/host/mounts.ts';
import { NodeDefinition } from '../../src/plugins/generated/csi.ts';
import { RegistrationDefinition } from '../../src/plugins/generated/plugin-registration.ts';
import type { ServiceFunctions } from '../../src/plugins/grpc-server.ts';
import { serveUnixGrpc } from '../../src/plugins/unix-grpc-server.ts';
import { Journal } from './journal.ts';
import { silentFaults } from './silent-faults.ts';

export interface DriverCall {
  call: string;
  request: unknown;
}

type Answer = (request: never, carryOut: () => Promise<object>) => object | Promise<object>;

/**
 * A CSI driver for tests that speaks real gRPC on a real socket. A volume is a folder in `store`, and is really mounted
 * from there. It refuses what the specification forbids.
 */
export class FakeCSIDriver {
  readonly calls = new Journal<DriverCall>();
  /** By method name. These replace what the driver would do. */
  readonly answers: Record<string, Answer> = {};
  capabilities: string[] = ['STAGE_UNSTAGE_VOLUME'];
  readonly name = 'csi.example.com';
  readonly #store: string;
  #servers: { close(): void }[] = [];
  #taken = 0;

  constructor(store: string) {
    this.#store = store;
  }

  /** Returns the path of a volume's data. */
  dataOf(volumeHandle: string): string {
    return join(this.#store, volumeHandle);
  }

  async listen(path: string): Promise<void> {
    await mkdir(dirname(path), { recursive: true });
    const services = [
      { definition: RegistrationDefinition, functions: this.#functions() },
      { definition: NodeDefinition, functions: this.#functions() },
    ];
    this.#servers.push(await serveUnixGrpc(path, { services, faults: silentFaults() }));
  }

  /** Closes all connections, as a crash does. The sockets stay. */
  crash(): void {
    for (const server of this.#servers.splice(0)) server.close();
  }

  async stop(path: string): Promise<void> {
    this.crash();
    await rm(path, { force: true });
  }

  /** Returns the names of the calls since it was last called, without queries for capabilities. */
  takeCalls(): string[] {
    const added = this.calls.items.slice(this.#taken);
    this.#taken = this.calls.items.length;
    return added.flatMap(({ call }) => (call.startsWith('nodeGet') ? [] : [call]));
  }

  #functions(): ServiceFunctions {
    const names = Object.keys(this.#methods);
    return Object.fromEntries(names.map((name) => [name, (request: never) => this.#answer(name, request)]));
  }

  #answer(name: string, request: never): Promise<object> {
    this.calls.add({ call: name, request });
    const carryOut = async (): Promise<object> => (await this.#methods[name]?.(request)) ?? {};
    const answer = this.answers[name];
    return answer === undefined ? carryOut() : Promise.resolve().then(() => answer(request, carryOut));
  }

  readonly #methods: Record<string, (request: never) => object | Promise<object | undefined>> = {
    getInfo: () => ({ type: 'CSIPlugin', name: this.name, endpoint: '', supportedVersions: ['1.0.0'] }),
    notifyRegistrationStatus: () => ({}),
    nodeGetInfo: () => ({ nodeId: 'edge1' }),
    nodeGetCapabilities: () => ({ capabilities: this.capabilities.map((type) => ({ rpc: { type } })) }),
    nodeStageVolume: ({ volumeId, stagingTargetPath }: { volumeId: string; stagingTargetPath: string }) =>
      this.#mount(this.dataOf(volumeId), stagingTargetPath),
    nodePublishVolume: async (request: { volumeId: string; stagingTargetPath: string; targetPath: string }) => {
      const { volumeId, stagingTargetPath, targetPath } = request;
      if (stagingTargetPath !== '' && !(await isMountPoint(stagingTargetPath)))
        throw new RpcError('NodePublishVolume', 9, 'the volume is not staged');
      await this.#mount(stagingTargetPath === '' ? this.dataOf(volumeId) : stagingTargetPath, targetPath);
    },
    nodeUnpublishVolume: async ({ targetPath }: { targetPath: string }) => {
      await unmountTree(targetPath);
      await rmdir(targetPath).catch(() => undefined);
    },
    nodeUnstageVolume: async ({ stagingTargetPath }: { stagingTargetPath: string }) => {
      await unmountTree(stagingTargetPath);
    },
    nodeGetVolumeStats: () => ({ usage: [{ unit: 'BYTES', total: 100n, available: 60n, used: 40n }] }),
  };

  async #mount(source: string, target: string): Promise<undefined> {
    await mkdir(source, { recursive: true });
    await mkdir(target, { recursive: true });
    if (!(await isMountPoint(target))) await bindMount(source, target);
  }
}

/** Lists a folder. Returns [] if it is missing. */
export const namesBelow = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);
