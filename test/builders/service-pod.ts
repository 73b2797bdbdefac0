import type { ServicePod } from '../../src/engine/services/service-pod.ts';

/** A Ready pod with the label `app: NAME`. */
export function makeServicePod(name: string, more: Partial<ServicePod> = {}): ServicePod {
  return {
    namespace: 'default',
    name,
    labels: { app: name },
    hostname: '',
    subdomain: '',
    ips: [],
    isReady: true,
    isTerminating: false,
    namedPorts: [],
    ...more,
  };
}
