import { expect, test } from 'vitest';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { ApiRig } from './api-rig.ts';

/** A node that has run for a day, an hour, a minute and seven seconds. */
async function openNode(more: Parameters<typeof ApiRig.open>[0] = {}) {
  const clock = new FakeClock(Date.UTC(2026, 0, 3, 4, 5, 12));
  const rig = await ApiRig.open({ clock, ...more });
  const client = await rig.authority.issue('carol');
  return async (line: string, accept?: string): Promise<string[]> => {
    const headers = accept === undefined ? [] : [`Accept: ${accept}`];
    const [head = '', ...body] = (await rig.ask(line, { client, headers })).split('\r\n\r\n');
    const [, type = ''] = /^content-type: (.*)$/m.exec(head) ?? [];
    return [head.split(' ')[1] ?? '', type.trim(), body.join('\r\n\r\n')];
  };
}

const warning =
  'Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.';
const as = (kind: string, { type = 'json', version = 'v1beta1' } = {}): string =>
  `application/${type};g=config.k8s.io;v=${version};as=${kind}`;

test.each([
  undefined,
  '*/*',
  'text/*',
  'text/plain;q=0.1',
  'image/png, text/plain',
  `${as('Statusz')};q=0.2, text/plain`,
])('people read when the agent started: Accept %s', async (accept) => {
  const ask = await openNode();
  const [status, type, body = ''] = await ask('POST /statusz', accept);
  const separator = /^Started(: |:|=| ) \S/m.exec(body)?.[1] ?? '';
  expect({ status, type, body: body.replaceAll(process.version, '{node}') }).toEqual({
    status: '200',
    type: 'text/plain; charset=utf-8',
    body: `
kubelet statusz
${warning}

Started${separator} Fri Jan  2 03:04:05 UTC 2026
Up${separator} 25 hr 01 min 07 sec
Go version${separator} {node}
Binary version${separator} v1.36.3
Emulation version${separator} 1.36
Paths${separator} /configz /debug /flagz /healthz /metrics
`,
  });
});

test('people read the flags in the order of their names', async () => {
  const [status, type, body = ''] = await (await openNode())('GET /flagz');
  const [, separator = ''] = /^v(: |:|=| )2$/m.exec(body) ?? [];
  expect([status, type, body]).toEqual([
    '200',
    'text/plain; charset=utf-8',
    `\nkubelet flagz\n${warning}\naddress${separator}0.0.0.0\nv${separator}2\n`,
  ]);
});

test('programs get JSON', async () => {
  const ask = await openNode();
  const statusz = {
    kind: 'Statusz',
    apiVersion: 'config.k8s.io/v1beta1',
    metadata: { name: 'kubelet' },
    startTime: '2026-01-02T03:04:05Z',
    uptimeSeconds: 90_067,
    goVersion: process.version,
    binaryVersion: 'v1.36.3',
    emulationVersion: '1.36',
    paths: ['/configz', '/debug', '/flagz', '/healthz', '/metrics'],
  };
  const flagz = {
    kind: 'Flagz',
    apiVersion: 'config.k8s.io/v1alpha1',
    metadata: { name: 'kubelet' },
    flags: { address: '0.0.0.0', v: '2' },
  };
  expect([
    await ask('GET /statusz', as('Statusz')),
    await ask('GET /flagz?pretty=true', as('Flagz', { version: 'v1alpha1' })),
  ]).toEqual([
    ['200', as('Statusz'), `${JSON.stringify(statusz)}\n`],
    ['200', as('Flagz', { version: 'v1alpha1' }), JSON.stringify(flagz, undefined, 2)],
  ]);
});

test('programs get YAML, in which texts stay texts', async () => {
  const pages = {
    ...{ version: 'v1.36.3', startedAt: Date.UTC(2026, 0, 2, 3, 4, 5), hasStatusz: true, hasFlagz: true },
    flags: { a: 'true', b: '', c: '[]', d: 'memory.available<1Mi', e: '10', f: "it's: so", g: '2026-01-02', h: 'a b' },
  };
  const ask = await openNode({ pages });
  expect(await ask('GET /flagz', as('Flagz', { type: 'yaml' }))).toEqual([
    '200',
    as('Flagz', { type: 'yaml' }),
    `apiVersion: config.k8s.io/v1beta1
flags:
  a: "true"
  b: ""
  c: '[]'
  d: memory.available<1Mi
  e: "10"
  f: 'it''s: so'
  g: "2026-01-02"
  h: a b
kind: Flagz
metadata:
  name: kubelet
`,
  ]);
});

const message = 'only the following media types are accepted: application/json, application/yaml, text/plain';
const refusal = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message };
const indented = JSON.stringify({ ...refusal, reason: 'NotAcceptable', code: 406 }, undefined, 2);
const inOneLine = `${JSON.stringify({ ...refusal, reason: 'NotAcceptable', code: 406 })}\n`;

test.each([
  ['application/json', inOneLine],
  ['application/*', inOneLine],
  ['rubbish', indented],
  ['application/vnd.kubernetes.protobuf', indented],
  [as('Flagz'), indented],
  [as('statusz'), indented],
  [as('Statusz', { version: 'v1' }), indented],
  ['application/json;v=v1beta1;g=config.k8s.io', indented],
])('a form that is not served is refused: %s', async (accept, body) => {
  expect(await (await openNode())('GET /statusz', accept)).toEqual(['406', 'application/json', body]);
});

test('a client that reads YAML gets the refusal in it', async () => {
  expect(await (await openNode())('GET /statusz', 'application/yaml')).toEqual([
    '406',
    'application/yaml',
    `apiVersion: v1
code: 406
kind: Status
message: 'only the following media types are accepted: application/json, application/yaml,
  text/plain'
metadata: {}
reason: NotAcceptable
status: Failure
`,
  ]);
});

test('pages whose gates are off are not there, and nothing is below them', async () => {
  const pages = { version: 'v1.36.3', startedAt: 0, flags: {}, hasStatusz: false, hasFlagz: false };
  const ask = await openNode({ pages });
  const missing = ['404', 'text/plain; charset=utf-8', '404 page not found\n'];
  expect([await ask('GET /statusz'), await ask('GET /flagz'), await (await openNode())('GET /statusz/x')]).toEqual([
    missing,
    missing,
    missing,
  ]);
});
