import { rm } from 'node:fs/promises';
import { openChannel } from '../../src/cri/grpc-channel.ts';
import { grpcService } from '../../src/cri/grpc-service.ts';
import { AsyncQueue } from '../../src/flow/async-queue.ts';
import {
  type DeepPartial,
  type Device,
  DevicePluginDefinition,
  RegistrationDefinition as KubeletDefinition,
  type RegisterRequest,
} from '../../src/plugins/generated/device-plugin.ts';
import { type PluginInfo, RegistrationDefinition } from '../../src/plugins/generated/plugin-registration.ts';
import type { GrpcService } from '../../src/plugins/grpc-server.ts';
import { serveUnixGrpc } from '../../src/plugins/unix-grpc-server.ts';
import { Journal } from './journal.ts';
import { silentFaults } from './silent-faults.ts';

export interface PluginCall {
  call: string;
  request: unknown;
}

type Answer = (request: never) => object | Promise<object>;

/** A plugin for tests that speaks real gRPC on real sockets. */
export class FakePlugin {
  readonly calls = new Journal<PluginCall>();
  /** By method name. Other methods return an empty message. */
  readonly answers: Record<string, Answer> = {};
  info: DeepPartial<PluginInfo> = {};
  /** Called with each call before its response. */
  onCall: (call: PluginCall) => void = () => undefined;
  #devices: DeepPartial<Device>[] = [];
  readonly #streams = new Set<AsyncQueue<object>>();
  readonly #servers: { close(): void }[] = [];

  /** Serves both services on a socket. Replaces a socket that another process left there. */
  async listen(path: string): Promise<void> {
    const faults = silentFaults();
    this.#servers.push(await serveUnixGrpc(path, { services: [this.#registration(), this.#devicePlugin()], faults }));
  }

  /** Closes all connections, as a crash does. The sockets stay. */
  crash(): void {
    for (const server of this.#servers.splice(0)) server.close();
  }

  async stop(...paths: string[]): Promise<void> {
    this.crash();
    for (const path of paths) await rm(path, { force: true });
  }

  /** Sends these devices on all streams, now and later. */
  send(devices: DeepPartial<Device>[]): void {
    this.#devices = devices;
    for (const stream of this.#streams) stream.push({ devices });
  }

  /** Registers with a kubelet. Resolves to its error, if there is one. */
  async register(kubeletSocket: string, request: DeepPartial<RegisterRequest>): Promise<unknown> {
    const channel = openChannel(kubeletSocket);
    try {
      await grpcService(channel, KubeletDefinition, () => 30_000).register({ version: 'v1beta1', ...request });
      return undefined;
    } catch (error) {
      return error;
    } finally {
      channel.close();
    }
  }

  #registration(): GrpcService {
    return { definition: RegistrationDefinition, functions: this.#functions('getInfo', 'notifyRegistrationStatus') };
  }

  #devicePlugin(): GrpcService {
    return {
      definition: DevicePluginDefinition,
      functions: {
        ...this.#functions('getDevicePluginOptions', 'getPreferredAllocation', 'allocate', 'preStartContainer'),
        listAndWatch: (request: object, signal: AbortSignal) => this.#listAndWatch(request, signal),
      },
    };
  }

  #functions(...names: string[]): Record<string, (request: object) => Promise<object>> {
    return Object.fromEntries(names.map((name) => [name, (request: object) => this.#answer(name, request)]));
  }

  #note(call: string, request: object): void {
    this.calls.add({ call, request });
    this.onCall({ call, request });
  }

  async #answer(name: string, request: object): Promise<object> {
    this.#note(name, request);
    return (await this.answers[name]?.(request as never)) ?? (name === 'getInfo' ? this.info : {});
  }

  async *#listAndWatch(request: object, signal: AbortSignal): AsyncGenerator<object> {
    this.#note('listAndWatch', request);
    const stream = new AsyncQueue<object>();
    this.#streams.add(stream);
    try {
      yield { devices: this.#devices };
      for (;;) yield await stream.pull(signal);
    } catch {
      this.#note('listAndWatch cancelled', {});
    } finally {
      this.#streams.delete(stream);
    }
  }
}
