import type { IncomingMessage, RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { gzipSync } from 'node:zlib';
import { beforeEach, expect, test } from 'vitest';
import { LargeBodies } from '../../../src/origins/http/large-bodies.ts';
import { MetadataOrigin } from '../../../src/origins/metadata/metadata-origin.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { WebServer } from '../../fakes/web-server.ts';
import { fetched } from '../fetching.ts';

const pod = 'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n';
const failed = (message: string, kind = 'is no manifest') => expect.objectContaining({ kind, message }) as unknown;

let server: WebServer;

beforeEach(async () => {
  server = await WebServer.start();
  server.answer = { status: 404 };
});

const read = (url: string, known?: string): Promise<unknown> => {
  const clock = new FakeClock();
  const options = { url: new URL(url), clock, largeBodies: new LargeBodies(tmpdir()), service: server.origin };
  return fetched(new MetadataOrigin(options), known);
};

/** Answers only a request that has the header, as each service does. */
const withHeader =
  (name: string, value: string, body: string | Buffer, answered: Record<string, string> = {}): RequestListener =>
  (request, response) => {
    const isRight = request.headers[name] === value;
    response.writeHead(isRight ? 200 : 403, answered).end(isRight ? body : 'no');
  };

const requests = (): string[] =>
  server.requests.items.map(({ method, url }: IncomingMessage) => `${method ?? ''} ${url ?? ''}`);

const google = (body: string): RequestListener =>
  withHeader('metadata-flavor', 'Google', body, { 'metadata-flavor': 'Google' });

test.each([
  ['gce://', 'user-data'],
  ['gce://Pod_Manifest-1', 'Pod_Manifest-1'],
])('%s is the attribute %s of the instance', async (url, attribute) => {
  server.answers.set(`/computeMetadata/v1/instance/attributes/${attribute}`, google(pod));
  expect(await read(url)).toBe(pod);
});

test('gce: an answer of another server is not believed', async () => {
  server.answer = pod;
  expect(await read('gce://')).toEqual(failed('the answer is not from the metadata service of Google'));
});

test('ec2: a token is requested first, and sent with the request for the user data', async () => {
  server.answers.set('/latest/api/token', (request, response) => {
    const isRight = request.method === 'PUT' && request.headers['x-aws-ec2-metadata-token-ttl-seconds'] === '60';
    response.writeHead(isRight ? 200 : 400).end(isRight ? 'AQ==' : undefined);
  });
  server.answers.set('/latest/user-data', withHeader('x-aws-ec2-metadata-token', 'AQ==', pod));
  expect(await read('ec2://')).toBe(pod);
  expect(requests()).toEqual(['PUT /latest/api/token', 'GET /latest/user-data']);
});

test.each([
  ['without user data', { status: 404 }, failed('the machine has no user data')],
  ['with an expired token', { status: 401 }, failed('the metadata service answered 401', 'refused')],
  [
    'that redirects',
    { status: 302, headers: { location: '/elsewhere' } },
    failed('the metadata service answered 302', 'refused'),
  ],
])('ec2: a service %s leaves the pods as they are', async (_what, answer, failure) => {
  server.answers.set('/latest/api/token', 'AQ==');
  server.answers.set('/latest/user-data', answer);
  expect(await read('ec2://')).toEqual(failure);
});

test('ec2: an invalid token is not sent', async () => {
  server.answers.set('/latest/api/token', 'a\r\nb: c');
  expect(await read('ec2://')).toEqual(failed('the metadata service sent no token'));
});

test('azure: the user data is base64', async () => {
  const path = '/metadata/instance/compute/userData';
  server.answers.set(path, withHeader('metadata', 'true', Buffer.from(pod).toString('base64')));
  expect(await read('azure://')).toBe(pod);
  expect(requests()).toEqual([`GET ${path}?api-version=2021-01-01&format=text`]);
  server.answers.set(path, '');
  expect(await read('azure://')).toEqual(failed('the machine has no user data'));
  server.answers.set(path, pod);
  expect(await read('azure://')).toEqual(failed('the user data is not base64'));
});

test('openstack: the user data is as it was given', async () => {
  server.answers.set('/openstack/latest/user_data', pod);
  expect(await read('openstack://')).toBe(pod);
});

test('data that are known bring nothing new', async () => {
  server.answers.set('/openstack/latest/user_data', pod);
  expect(await read('openstack://', pod)).toBe('unchanged');
});

test.each<[string, string | Buffer, unknown]>([
  ['packed', gzipSync(pod), pod],
  [
    'a cloud-config',
    `#cloud-config\nusers: []\nkubelet-ts:\n  manifests: |\n    ${pod.replaceAll('\n', '\n    ')}\n`,
    pod,
  ],
  [
    'a cloud-config with tags of YAML and of others',
    [
      '#cloud-config',
      'write_files: [{content: !!binary f0VM, at: !!int 5, on: !!bool yes, of: !!python/tuple [a], by: !user {a: b}}]',
      `kubelet-ts:\n  manifests: |\n    ${pod.replaceAll('\n', '\n    ')}\n`,
    ].join('\n'),
    pod,
  ],
  ['a cloud-config of others', '#cloud-config\nusers: []\n', failed('the cloud-config has no kubelet-ts.manifests')],
  [
    'a list',
    '#cloud-config\nkubelet-ts: {manifests: []}',
    failed('the cloud-config has kubelet-ts.manifests that is no text'),
  ],
  ['a script', '#!/bin/sh\ntrue\n', failed('the user data is a script')],
  ['MIME', 'Content-Type: multipart/mixed; boundary="x"\n', failed('the user data is a MIME message of several parts')],
  ['nothing', '', failed('the user data is empty')],
  [
    'a bomb',
    gzipSync(Buffer.alloc(11 * 1024 * 1024)),
    failed('the user data cannot be unpacked: Cannot create a Buffer larger than 10485760 bytes'),
  ],
])('user data that are %s', async (_what, body, result) => {
  server.answers.set('/openstack/latest/user_data', { body });
  expect(await read('openstack://')).toEqual(result);
});

test.each([
  ['"s3cret', 'line 2, column 11'],
  ['*s3cret', 'line 2, column 11'],
  ['!s3cret!pw x', 'line 2, column 11'],
  ['!s3cret pw\n  b: c', 'line 3, column 3'],
  ['[', 'line 3, column 1'],
])('user data that are broken YAML are not quoted: %s', async (value, place) => {
  server.answers.set('/openstack/latest/user_data', `#cloud-config\npassword: ${value}\n`);
  expect(await read('openstack://')).toEqual({
    kind: 'is no manifest',
    message: `the cloud-config is no YAML at ${place}`,
    hint: 'Check the indentation, the quotes, the tags and the aliases there.',
  });
});
