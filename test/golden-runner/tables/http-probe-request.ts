import type { HTTPGetAction } from 'kubernetes-types/core/v1.js';
import type { Container } from '../../../src/api/types.ts';
import { httpProbeRequest } from '../../../src/engine/network/http-action-request.ts';
import { orRefused } from '../or-refused.ts';
import { tableAdapter } from '../table-adapter.ts';

interface In {
  httpGet: HTTPGetAction;
  container: Container;
  podIP: string;
}

export const httpProbeRequests = tableAdapter<In>('http-probe-request', ({ httpGet, container, podIP }) =>
  orRefused(() => httpProbeRequest(httpGet, container, { podIP, userAgent: 'kube-probe/VERSION' })),
);
