import { basename } from 'node:path';
import type { Clock } from '../../src/clock.ts';
import type { CallOptions } from '../../src/cri/service.ts';
import { RpcError } from '../../src/errors.ts';
import { AsyncQueue } from '../../src/flow/async-queue.ts';
import { ContainerAllocateResponse, type DeepPartial, type Device } from '../../src/plugins/generated/device-plugin.ts';
import type { Connected, DevicePlugin, Plugins, PodResourcesLister, RegisterRequest } from '../../src/plugins/types.ts';
import { codes } from './fake-calls.ts';

type Answer = (request: never) => object | Promise<object>;

/** A device plugin in the test's process. It never answers a method whose answer is `never`. */
export class DirectPlugin {
  /** Names of the methods that were called. */
  readonly calls: string[] = [];
  /** By method name. Other methods return an empty message. */
  readonly answers: Record<string, Answer> = {};
  devices: DeepPartial<Device>[] = [];
  readonly streams = new Set<AsyncQueue<object>>();

  /** Sends these devices, now and later. */
  send(devices: DeepPartial<Device>[]): void {
    this.devices = devices;
    for (const stream of this.streams) stream.push({ devices });
  }

  /** Answers a call of this method. */
  async answer(name: string, request: object): Promise<object> {
    this.calls.push(name);
    return (await this.answers[name]?.(request as never)) ?? {};
  }
}

export const healthy = (...ids: string[]): DeepPartial<Device>[] => ids.map((ID) => ({ ID, health: 'Healthy' }));

/** Creates a plugin that passes the ids of a container's devices in a variable. */
export function goodPlugin(devices: DeepPartial<Device>[]): DirectPlugin {
  const plugin = new DirectPlugin();
  plugin.answers['getPreferredAllocation'] = () => ({ containerResponses: [] });
  plugin.answers['allocate'] = ({ containerRequests }: { containerRequests: { devicesIds: string[] }[] }) => ({
    containerResponses: containerRequests.map(({ devicesIds }) => ({
      envs: { DEVICES: devicesIds.join() },
      mounts: [],
      devices: [],
      annotations: {},
      cdiDevices: [],
    })),
  });
  plugin.send(devices);
  return plugin;
}

export const never = (): Promise<object> => new Promise(() => undefined);

/** Plugins without sockets: calls reach them at once, and deadlines follow the test's clock. */
export class DirectPlugins implements Plugins {
  readonly #clock: Clock;
  readonly #byEndpoint = new Map<string, DirectPlugin>();
  /** Answers monitoring agents. Undefined before the kubelet serves them. */
  podResources: PodResourcesLister | undefined;
  #register: ((request: RegisterRequest) => Promise<void>) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  readonly allocateResponse: Plugins['allocateResponse'] = {
    encode: (message) => ContainerAllocateResponse.encode(message).finish(),
    decode: (bytes) => ContainerAllocateResponse.decode(bytes),
  };

  get isServed(): boolean {
    return this.#register !== undefined;
  }

  /** Registers a plugin with the kubelet. Rejects with the kubelet's error. */
  async register(resourceName: string, plugin: DirectPlugin): Promise<void> {
    const endpoint = `${basename(resourceName)}.sock`;
    this.#byEndpoint.set(endpoint, plugin);
    await this.#register?.({ version: 'v1beta1', endpoint, resourceName, options: undefined });
  }

  serveDeviceRegistration: Plugins['serveDeviceRegistration'] = (_path, register) => {
    this.#register = register;
    return Promise.resolve({ close: () => undefined });
  };

  servePodResources: Plugins['servePodResources'] = (_path, lister) => {
    this.podResources = lister;
    return Promise.resolve({ close: () => undefined });
  };

  connectDevicePlugin = (socketPath: string): Promise<Connected<DevicePlugin>> => {
    const plugin = this.#byEndpoint.get(basename(socketPath));
    if (plugin === undefined) return Promise.reject(new Error(`no plugin listens on ${socketPath}`));
    const closed = new AbortController();
    return Promise.resolve({
      service: this.#service(plugin, closed.signal),
      close: () => {
        closed.abort(new RpcError('plugin', codes.unavailable, 'the connection was closed'));
      },
    });
  };

  connectRegistration = (): Promise<never> => Promise.reject(new Error('no plugin registers by a socket'));
  connectCSINode = (): Promise<never> => Promise.reject(new Error('there is no CSI driver'));

  #service(plugin: DirectPlugin, closed: AbortSignal): DevicePlugin {
    const unary =
      (name: string) =>
      (request: object = {}, { deadlineMs = Infinity }: CallOptions = {}): Promise<object> =>
        new Promise((resolve, reject) => {
          const isLate = new RpcError(name, codes.deadlineExceeded, 'Deadline exceeded');
          const cancel = this.#clock.after(deadlineMs, () => {
            reject(isLate);
          });
          plugin.answer(name, request).then(resolve, reject).finally(cancel);
        });
    const names = ['getDevicePluginOptions', 'getPreferredAllocation', 'allocate', 'preStartContainer'];
    return {
      ...Object.fromEntries(names.map((name) => [name, unary(name)])),
      listAndWatch: () => lists(plugin, closed),
    } as unknown as DevicePlugin;
  }
}

async function* lists(plugin: DirectPlugin, closed: AbortSignal): AsyncGenerator<object> {
  const stream = new AsyncQueue<object>();
  plugin.streams.add(stream);
  try {
    yield { devices: plugin.devices };
    for (;;) yield await stream.pull(closed);
  } finally {
    plugin.streams.delete(stream);
  }
}
