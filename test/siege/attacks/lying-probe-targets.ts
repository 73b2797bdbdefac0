import { makePod, serve, shell } from '../../e2e/manifests.ts';
import { type Attack, ports } from '../attack.ts';
import { besiegingPods, revised } from './besieging-pods.ts';

const paths = [
  'endless-headers',
  'endless-header-line',
  'endless-body',
  'endless-1xx',
  'silent',
  'escape',
  'redirects',
];
const timing = { periodSeconds: 2, timeoutSeconds: 2 };

/** Targets of probes that never end their headers or bodies, say nothing, or speak another protocol. */
export const lyingProbeTargets: Attack = {
  name: 'probe-targets',
  carryOn: async (siege) => {
    const { peer, hit } = siege;
    const arguments_ = [ports.probeTarget, ports.otherProtocol, ports.silent].map(String);
    const target = peer('probe-targets.mjs', { arguments: arguments_, onLine: hit });
    const probes = [
      ...paths.map((path) => ({ httpGet: { path: `/${path}`, port: ports.probeTarget, host: '127.0.0.1' } })),
      { httpGet: { path: '/', port: ports.otherProtocol, host: '127.0.0.1' } },
      { grpc: { port: ports.otherProtocol } },
      { grpc: { port: ports.silent } },
      { tcpSocket: { port: ports.otherProtocol } },
    ];
    const pod = (revision: number): object =>
      makePod('probed', {
        ...revised(revision),
        containers: probes.map((probe, index) =>
          shell(`c${index}`, serve, { readinessProbe: { ...probe, ...timing } }),
        ),
      });
    await Promise.all([target, besiegingPods(siege, 30_000, { probed: pod })]);
  },
};
