import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { SecretValues } from '../../../src/engine/redaction/secret-values.ts';
import type { Part } from '../../../src/node/support-bundle/redact.ts';
import { bundleOf } from '../../../src/node/support-bundle/support-bundle.ts';
import { archiveTexts } from './archive-texts.ts';

const json = (name: string, value: unknown): Part => ({ name, content: { json: value } });
const text = (name: string, value: string): Part => ({ name, content: { text: value } });

async function bundled(...parts: Part[]): Promise<Record<string, string>> {
  return archiveTexts(await bundleOf(parts, [], new SecretValues()));
}

const base64 = (value: string): string => Buffer.from(value).toString('base64');

test('a planted secret is nowhere in the bundle, whatever place declares it and whatever part repeats it', async () => {
  const planted = {
    env: 'plant-env-7f3a',
    secret: 'plant-secret-data-91',
    stringData: 'plant-string-data-92',
    configMap: 'plant-config-map-93',
    annotation: 'plant-annotation-94',
    applied: 'plant-applied-95',
    probeHeader: 'plant-probe-header-96',
    urlPassword: 'plant-url-password-97',
    urlQuery: 'plant-url-query-98',
    urlHeader: 'plant-url-header-99',
    statusHeader: 'plant-status-header-103',
    argument: 'plant-argument-100',
    nextArgument: 'plant-next-argument-101',
    field: 'plant-field-102',
  };
  const pod = {
    kind: 'Pod',
    metadata: {
      name: 'web',
      annotations: {
        note: planted.annotation,
        'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify({
          spec: { containers: [{ env: [{ name: 'A', value: planted.applied }] }] },
        }),
        'kubernetes.io/config.source': 'file',
      },
    },
    spec: {
      containers: [
        {
          name: 'app',
          image: 'app:1',
          args: [`--password=${planted.argument}`, '--token', planted.nextArgument, '--verbose', 'loud'],
          env: [
            { name: 'DB', value: planted.env },
            { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
          ],
          livenessProbe: { httpGet: { port: 80, httpHeaders: [{ name: 'X-Key', value: planted.probeHeader }] } },
        },
      ],
    },
  };
  const texts = await bundled(
    json('manifests/a.json', [
      pod,
      {
        kind: 'Secret',
        metadata: { name: 's' },
        data: { k: base64(planted.secret) },
        stringData: { x: planted.stringData },
      },
      { kind: 'List', items: [{ kind: 'ConfigMap', data: { c: planted.configMap } }] },
    ]),
    json('configuration.json', {
      staticPodURL: `https://user:${planted.urlPassword}@host/pod.yaml?sig=${planted.urlQuery}`,
      staticPodURLHeader: { Authorization: [`Bearer ${planted.urlHeader}`] },
      statusURLHeaders: [['X-Site', planted.statusHeader]],
      dbPassword: planted.field,
      tokenAuthFile: '/etc/tokens.csv',
    }),
    text(
      'logs/agent.log',
      Object.values(planted)
        .map((value) => `seen ${value} and ${base64(value)}`)
        .join('\n'),
    ),
    json('snapshot.json', { [planted.env]: planted.secret, quoted: `"${planted.urlPassword}"` }),
  );
  const whole = JSON.stringify(texts);
  const left = Object.values(planted).filter((value) => whole.includes(value) || whole.includes(base64(value)));
  expect(left).toEqual([]);
  expect(JSON.parse(texts['manifests/a.json'] ?? '')).toEqual([
    {
      kind: 'Pod',
      metadata: {
        name: 'web',
        annotations: {
          note: '<hidden>',
          'kubectl.kubernetes.io/last-applied-configuration': '<hidden>',
          'kubernetes.io/config.source': 'file',
        },
      },
      spec: {
        containers: [
          {
            name: 'app',
            image: 'app:1',
            args: ['--password=<hidden>', '--token', '<hidden>', '--verbose', 'loud'],
            env: [
              { name: 'DB', value: '<hidden>' },
              { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
            ],
            livenessProbe: { httpGet: { port: 80, httpHeaders: [{ name: 'X-Key', value: '<hidden>' }] } },
          },
        ],
      },
    },
    { kind: 'Secret', metadata: { name: 's' }, data: { k: '<hidden>' }, stringData: { x: '<hidden>' } },
    { kind: 'List', items: [{ kind: 'ConfigMap', data: { c: '<hidden>' } }] },
  ]);
  expect(JSON.parse(texts['configuration.json'] ?? '')).toEqual({
    staticPodURL: 'https://<hidden>@host/pod.yaml?<hidden>',
    staticPodURLHeader: { Authorization: ['<hidden>'] },
    statusURLHeaders: [['<hidden>', '<hidden>']],
    dbPassword: '<hidden>',
    tokenAuthFile: '/etc/tokens.csv',
  });
});

test.each([
  ['Authorization: Basic dXNlcjpwYXNz', 'Authorization: <hidden>'],
  ['sent Bearer abc.def.ghi to it', 'sent Bearer <hidden> to it'],
  ['{"token":"abcdef","pod":"web"}', '{"token":"<hidden>","pod":"web"}'],
  ['DB_PASSWORD=hunter2 next', 'DB_PASSWORD=<hidden> next'],
  ['get http://u:p@host/x?key=1 failed', 'get http://<hidden>@host/x?<hidden> failed'],
  ['-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nnext', '<hidden>\nnext'],
  ['API_KEY=abcd1234 next', 'API_KEY=<hidden> next'],
  ['AWS_SECRET_ACCESS_KEY: abcd1234', 'AWS_SECRET_ACCESS_KEY: <hidden>'],
  ['{"api_key": "abcd1234", "size": 1}', '{"api_key": "<hidden>", "size": 1}'],
  ['secret "web" not found', 'secret "web" not found'],
  ['{"password":"two words","pod":"web"}', '{"password":"<hidden>","pod":"web"}'],
  ["password='two words' next", "password='<hidden>' next"],
  [String.raw`{"msg":"{\"token\":\"two words\"} seen"}`, String.raw`{"msg":"{\"token\":\"<hidden>\"} seen"}`],
  [String.raw`password="a \"b\" c" next`, 'password="<hidden>" next'],
  ['mysql --password "two words" --host db', 'mysql --password "<hidden>" --host db'],
  ['tool --db-pwd hunter2 --verbose', 'tool --db-pwd <hidden> --verbose'],
  ['--manifest-url-cosign-key must be a file', '--manifest-url-cosign-key must be a file'],
  ['password="<hidden> words" next', 'password="<hidden>" next'],
  ['password="<hidden>" token="" next', 'password="<hidden>" token="" next'],
  ['tool --token --verbose', 'tool --token --verbose'],
  ['Server=db;Uid=sa;Pwd=hunter2;Database=x', 'Server=db;Uid=sa;Pwd=<hidden>'],
  ['PWD=/root OLDPWD=/srv', 'PWD=/root OLDPWD=/srv'],
  ['DB_PWD=/hunter2 next', 'DB_PWD=<hidden> next'],
])('hides what looks like a credential in a log: %j', async (line, shown) => {
  expect((await bundled(text('log', line)))['log']).toBe(shown);
});

test.each<[unknown, unknown]>([
  [
    { kind: 'SecretList', items: [{ metadata: { name: 'db' }, data: { pw: 'plant-1' } }] },
    { kind: 'SecretList', items: [{ metadata: { name: 'db' }, data: { pw: '<hidden>' } }] },
  ],
  [
    { Kind: 'Secret', stringdata: { pw: 'plant-1' } },
    { Kind: 'Secret', stringdata: { pw: '<hidden>' } },
  ],
  [
    { api_key: 'plant-1', accessKey: 'plant-2' },
    { api_key: '<hidden>', accessKey: '<hidden>' },
  ],
  [
    { args: ['--encryption-key=plant-1', '--requirepass', 'plant-2', '--key-size=big', '--secret-access-key=plant-3'] },
    {
      args: [
        '--encryption-key=<hidden>',
        '--requirepass',
        '<hidden>',
        '--key-size=big',
        '--secret-access-key=<hidden>',
      ],
    },
  ],
  [
    { args: ['--db-pwd', 'plant-1', 'login --password "plant-2"'], pwd: 'plant-3' },
    { args: ['--db-pwd', '<hidden>', 'login --password "<hidden>"'], pwd: '<hidden>' },
  ],
])('what is written like a credential is hidden: %j', async (value, redacted) => {
  const texts = await bundled(json('a.json', value), text('agent.log', 'seen plant-1 and plant-2'));
  expect(JSON.parse(texts['a.json'] ?? '')).toEqual(redacted);
  expect(texts['agent.log']).not.toContain('plant-1');
});

test('a log that repeats the beginning of a credential for ever takes linear time', async () => {
  const beginnings = ['token-', '://a:', 'secret-a-', '--token ', "token='", '--a', '--pwd "'].map((one) =>
    one.repeat(100_000),
  );
  const texts = await bundled(...beginnings.map((one, index) => text(`${index}`, one)));
  expect(beginnings.map((_one, index) => texts[index]?.length)).toEqual([
    600_000, 500_000, 900_000, 800_000, 800_000, 300_000, 800_000,
  ]);
});

test('a part and the whole are bounded, and the contents say what was cut', async () => {
  const mebibyte = 1024 ** 2;
  const parts = Array.from({ length: 9 }, (_value, index) => text(`${index}`, 'x '.repeat(2.5 * mebibyte)));
  const bundle = await bundleOf(parts, [{ name: 'stats.json', reason: 'no agent' }], new SecretValues());
  expect(gunzipSync(bundle).length).toBeLessThan(33 * mebibyte);
  const texts = await archiveTexts(bundle);
  const cut = Array.from({ length: 9 }, (_value, index) => ({
    name: `${index}`,
    bytes: 5 * mebibyte,
    keptBytes: index < 8 ? 4 * mebibyte : 0,
  }));
  expect(JSON.parse(texts['contents.json'] ?? '')).toEqual({
    files: cut.slice(0, 8).map(({ name, keptBytes: bytes }) => ({ name, bytes })),
    missing: [{ name: 'stats.json', reason: 'no agent' }],
    cut,
  });
});
