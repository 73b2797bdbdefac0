import { expect, test } from 'vitest';
import { knownServiceProblems } from '../../../src/commands/objects/known-service-problems.ts';
import type { ManifestProblem } from '../../../src/engine/view/events.ts';
import type { ServiceProblemSnapshot } from '../../../src/engine/view/service-problem.ts';
import { headless, makeService } from '../../builders/services.ts';

const file = '/etc/manifests/web.yaml';
const declared = [makeService('web'), makeService('api'), headless('db')].map((object) => ({ object, where: file }));
const allocations = new Map([['default/api', { clusterIPs: ['10.223.0.5'], nodePorts: {} }]]);
const error: ManifestProblem = {
  origin: file,
  severity: 'error',
  message: 'NodePort TCP/30080 is declared by /etc/manifests/api.yaml already',
  hint: 'Give one of them another port.',
};
const ofWeb = { kind: 'Service', namespace: 'default', name: 'web', stage: 'address' } as const;
const reported: ServiceProblemSnapshot = { ...ofWeb, message: 'gets no address', hint: 'Solve it.', since: 0 };

test.each<[string, ManifestProblem[], ServiceProblemSnapshot[], unknown[]]>([
  [
    'of a manifest with an error',
    [error],
    [],
    [
      {
        ...ofWeb,
        message: `gets no address, because its manifest has an error: ${error.message}`,
        hint: 'Give one of them another port.',
      },
    ],
  ],
  ['of a manifest with a warning', [{ ...error, severity: 'warning' }], [], []],
  ['when another manifest has an error', [{ ...error, origin: '/etc/manifests/api.yaml' }], [], []],
  ['with a problem that the agent reports', [error], [reported], [reported]],
])('problems of a Service without an address %s', (_, problems, serviceProblems, known) => {
  const sources = [{ source: 'file' as const, where: '/etc/manifests', ready: true, pods: 0, problems }];
  expect(knownServiceProblems(declared, allocations, { serviceProblems, sources })).toEqual(known);
});
