import { Command } from 'commander';
import { expect, test } from 'vitest';
import type { Service } from '../../../src/api/values/service.ts';
import { register } from '../../../src/commands/explain.ts';
import { explainService } from '../../../src/commands/explain/explained-service.ts';
import { LastGoodManifests } from '../../../src/engine/config/last-good/last-good-manifests.ts';
import { writeAllocations } from '../../../src/engine/services/service-records.ts';
import type { PodSnapshot } from '../../../src/engine/view/snapshot.ts';
import type { ServiceProblemSnapshot } from '../../../src/engine/view/service-problem.ts';
import { headless, makePort, makeService } from '../../builders/services.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { makeEntry, makeSnapshot, noon } from '../../tui/make-snapshot.ts';
import { startFakeAgent } from '../fake-agent.ts';
import { makeDeps, makeRuntime } from '../runtime-listings.ts';

const allocation = { clusterIPs: ['10.223.0.17'], nodePorts: {} };

/** A pod that `web` selects. */
function makePod(name: string, isReady = true): PodSnapshot {
  const entry = makeEntry(name, isReady ? {} : { containerState: { waiting: {} } });
  const { metadata, spec, status } = entry.pod;
  const podIPs = [{ ip: '10.222.0.5' }];
  return { ...entry, pod: { spec, metadata: { ...metadata, labels: { app: 'web' } }, status: { ...status, podIPs } } };
}

const problem = (stage: ServiceProblemSnapshot['stage']): ServiceProblemSnapshot => ({
  ...{ kind: 'Service', namespace: 'default', name: 'web', since: noon },
  ...{ stage, message: `has a problem of ${stage}`, hint: 'Solve it.' },
});

const named = makeService('web', { ports: [makePort({ targetPort: 'http' })] });
const outside = makeService('web', { type: 'ExternalName', selector: {}, externalName: '192.0.2.7' });

test.each<[string, Service, PodSnapshot[], ServiceProblemSnapshot[], [stage: string, cause: string, fixes: string[]]]>([
  ['a Ready pod', makeService('web'), [makePod('a')], [], ['serving', 'forwards connections to 10.223.0.17', []]],
  [
    'problems at each stage',
    makeService('web'),
    [],
    [problem('rules'), problem('address')],
    ['address', 'has a problem of address', ['Solve it.']],
  ],
  [
    'no pod',
    makeService('web'),
    [makeEntry('other')],
    [problem('rules')],
    [
      'endpoints',
      'selects no pod: none in namespace default has the labels app=web',
      ['Correct its selector, or the labels: kubelet-ts get pods -n default --show-labels'],
    ],
  ],
  [
    'no Ready pod',
    makeService('web'),
    [makePod('a', false)],
    [],
    [
      'endpoints',
      'has no endpoints, because none of its pods is Ready',
      ['Find out why: kubelet-ts explain default/a'],
    ],
  ],
  [
    'pods without the port',
    named,
    [makePod('a')],
    [],
    [
      'endpoints',
      'has no endpoints for port 80, because no Ready pod has a TCP port named http',
      ['Name a port of the container so, or write its number as targetPort.'],
    ],
  ],
  [
    'rules that the kernel refuses',
    makeService('web'),
    [makePod('a')],
    [problem('rules')],
    ['rules', 'has a problem of rules', ['Solve it.']],
  ],
  [
    'no address',
    headless('web'),
    [makePod('a')],
    [],
    ['serving', 'its name resolves to the addresses of its pods', []],
  ],
  ['another server', outside, [], [], ['serving', 'its name leads to 192.0.2.7', []]],
])('explains a Service with %s', (_what, service, pods, serviceProblems, expected) => {
  const subject = { service, where: '/m/web.yaml', addresses: [], allocation };
  const { stage, cause, fixes } = explainService(subject, makeSnapshot(pods, { serviceProblems }));
  expect([stage, cause, fixes]).toEqual(expected);
});

const manifest = `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
`;

async function makeNode(serviceProblems: ServiceProblemSnapshot[]): Promise<string> {
  const rootDir = await temporaryFolder();
  await startFakeAgent(rootDir, {
    '/v1/snapshot': makeSnapshot([makePod('a')], { serviceProblems }),
    '/v1/history': [],
  });
  const lastGood = new LastGoodManifests({ rootDir, clock: new FakeClock(), logger: silentLogger });
  await lastGood.save('file', '/m/web.yaml', Buffer.from(manifest));
  await writeAllocations(rootDir, new Map([['default/web', allocation]]));
  return rootDir;
}

test('explain svc/web shows where it leads, and svc/db that no manifest declares it', async () => {
  const rootDir = await makeNode([]);
  const deps = makeDeps(makeRuntime([], []));
  const explain = async (...words: string[]): Promise<string> => {
    const program = new Command().exitOverride();
    register(program, deps);
    await program.parseAsync(['explain', ...words, '--root-dir', rootDir], { from: 'user' });
    return deps.printed.stdout;
  };
  expect(await explain('svc', 'web')).toBe(`default/service/web: serving
  forwards connections to 10.223.0.17

Evidence:
  /m/web.yaml: declares it
  10.223.0.17 80/TCP: 10.222.0.5:80
`);
  await expect(explain('svc/db')).rejects.toMatchObject({
    message: 'no Service "db" is declared in namespace default',
    hint: 'List them: kubelet-ts get svc',
  });
});
