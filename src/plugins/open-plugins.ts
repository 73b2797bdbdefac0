import type { Clock } from '../clock.ts';
import { codes } from '../cri/errors.ts';
import { RpcError } from '../errors.ts';
import type { Faults } from '../flow/faults.ts';
import { TokenBucket } from '../flow/token-bucket.ts';
import { ContainerAllocateResponse, type RegisterRequest, RegistrationDefinition } from './generated/device-plugin.ts';
import { type GetPodResourcesRequest, PodResourcesListerDefinition } from './generated/pod-resources.ts';
import type { ServiceFunctions } from './grpc-server.ts';
import type { Plugins, PodResourcesLister } from './types.ts';
import { serveUnixGrpc } from './unix-grpc-server.ts';

/** Limits calls for the resources of pods. kubelet: apis/podresources/constants.go DefaultQPS, DefaultBurstTokens */
const rate = { perSecond: 100, burst: 10 };

interface Deps {
  faults: Pick<Faults, 'record'>;
  clock: Clock;
}

/** Opens the plugins of this machine. Clients and servers are loaded once there is a plugin. */
export function openPlugins(deps: Deps): Plugins {
  const { clock } = deps;
  return {
    connectRegistration: async (socketPath) => (await connections()).connectRegistration(socketPath, clock),
    connectCSINode: async (socketPath) => (await connections()).connectCSINode(socketPath, clock),
    connectDevicePlugin: async (socketPath) => (await connections()).connectDevicePlugin(socketPath, clock),
    allocateResponse: {
      encode: (message) => ContainerAllocateResponse.encode(message).finish(),
      decode: (bytes) => ContainerAllocateResponse.decode(bytes),
    },
    serveDeviceRegistration: (socketPath, register) => {
      const functions = {
        register: async (request: RegisterRequest) => {
          await register(request);
          return {};
        },
      };
      return serveUnixGrpc(socketPath, { services: [{ definition: RegistrationDefinition, functions }], ...deps });
    },
    servePodResources: (socketPath, lister) => {
      const service = { definition: PodResourcesListerDefinition, functions: podResources(lister, clock) };
      return serveUnixGrpc(socketPath, { services: [service], ...deps });
    },
  };
}

const connections = () => import('./plugin-connections.ts');

/** kubelet: apis/grpc/ratelimit.go LimiterUnaryServerInterceptor */
function podResources({ list, getAllocatableResources, get }: PodResourcesLister, clock: Clock): ServiceFunctions {
  const bucket = new TokenBucket({ ...rate, clock });
  const answer = (call: () => object): Promise<object> => {
    if (!bucket.tryAcquire())
      return Promise.reject(new RpcError('PodResources', codes.resourceExhausted, 'rejected by rate limit'));
    return Promise.resolve(call());
  };
  return {
    list: async () => answer(() => ({ podResources: list() })),
    getAllocatableResources: async () => answer(getAllocatableResources),
    get: async (request: GetPodResourcesRequest) => answer(() => ({ podResources: get(request) })),
  };
}
