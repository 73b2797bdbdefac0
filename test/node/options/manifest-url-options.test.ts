import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import {
  addManifestURLOptions,
  type ManifestURLFlags,
  type ManifestURLOptions,
  manifestURLOptions,
} from '../../../src/node/options/manifest-url-options.ts';
import { UserError } from '../../../src/errors.ts';
import { MinisignSigner } from '../../fakes/minisign-signer.ts';

function optionsOf(...args: string[]): ManifestURLOptions {
  const command = addManifestURLOptions(new Command('run'));
  command.parse(args, { from: 'user' });
  return manifestURLOptions(command.opts<ManifestURLFlags>());
}

const url = 'https://box.example/pods.yaml';
const digest = 'a'.repeat(64);
const { publicKey } = new MinisignSigner();

test('every flag has its place', () => {
  const options = optionsOf(
    ...['--manifest-url', url, '--manifest-url', 'https://box.example/more.yaml'],
    ...['--manifest-url-header', 'X-Time: 10:30', '--manifest-url-header', 'A:b'],
    ...['--manifest-url-ca-file', '/ca.pem', '--manifest-url-token-file', 'token'],
    ...['--manifest-url-cert-file', '/cert.pem', '--manifest-url-key-file', '/key.pem'],
    ...['--manifest-url-sha256', digest.toUpperCase(), '--manifest-url-public-key', publicKey],
  );
  expect(options).toEqual({
    manifestURLs: [url, 'https://box.example/more.yaml'],
    manifestURLHeaders: [
      ['X-Time', '10:30'],
      ['A', 'b'],
    ],
    manifestURLFiles: {
      caFile: '/ca.pem',
      tokenFile: `${process.cwd()}/token`,
      certFile: '/cert.pem',
      keyFile: '/key.pem',
    },
    manifestURLTrust: {
      sha256: [digest],
      publicKeys: [expect.objectContaining({ keyId: expect.stringMatching(/^[0-9A-F]{16}$/) as string })],
    },
    manifestURLCosignKeyFiles: [],
  });
});

test('two URLs may differ in their queries when a name tells them apart', () => {
  const urls = [`${url}?group=site#site`, `${url}?group=fleet#fleet`];
  expect(optionsOf(...urls.flatMap((text) => ['--manifest-url', text])).manifestURLs).toEqual(urls);
});

test.each(['gce://', 'gce://Pod_manifest-1', 'ec2://', 'azure://', 'openstack://', 'nocloud://', 'nocloud:///seed/a'])(
  '%s is a URL of manifests',
  (text) => {
    expect(optionsOf('--manifest-url', text).manifestURLs).toEqual([text]);
  },
);

test('two refs of one repository are two sources', () => {
  const urls = ['git+https://box.example/a.git?ref=east', 'git+https://box.example/a.git?ref=west'];
  expect(optionsOf(...urls.flatMap((text) => ['--manifest-url', text])).manifestURLs).toEqual(urls);
});

test('an artifact has files with keys and with authorities', () => {
  const artifact = ['--manifest-url', 'oci://box.example:5000/team/pods:v1'];
  const keys = ['--manifest-url-cosign-key', '/a.pub', '--manifest-url-cosign-key', 'b.pub'];
  expect(optionsOf(...artifact, ...keys, '--manifest-url-ca-file', '/ca.pem')).toMatchObject({
    manifestURLs: ['oci://box.example:5000/team/pods:v1'],
    manifestURLCosignKeyFiles: ['/a.pub', `${process.cwd()}/b.pub`],
    manifestURLFiles: { caFile: '/ca.pem' },
  });
});

test('a key of cosign next to another URL than that of an artifact is an error', () => {
  const flags = ['--manifest-url', 'oci://box.example/pods:v1', '--manifest-url', url];
  expect(() => optionsOf(...flags, '--manifest-url-cosign-key', '/a.pub')).toThrow(
    /^--manifest-url-cosign-key has no effect for https:\/\/box.example\/pods.yaml$/,
  );
});

test('a flag of HTTP servers next to another URL is an error that names both', () => {
  const flags = ['--manifest-url', 'ec2://', '--manifest-url', url, '--manifest-url-sha256', digest];
  expect(() => optionsOf(...flags)).toThrow(/^--manifest-url-sha256 has no effect for ec2:\/\/$/);
});

describe('what cannot be meant is refused, without showing a secret', () => {
  test.each<[string, string[]]>([
    ['no URL', ['--manifest-url', 's3cret']],
    ['a URL of something else', ['--manifest-url', 'ftp://me:s3cret@box.example/pods.yaml']],
    ['a key of a cloud without keys', ['--manifest-url', 'ec2://s3cret']],
    ['a path in the metadata', ['--manifest-url', 'gce://key/s3cret']],
    ['a folder without its first slash', ['--manifest-url', 'nocloud://s3cret/seed']],
    ['a git repository without TLS', ['--manifest-url', 'git+http://s3cret.example/a.git']],
    ['a git repository with a password', ['--manifest-url', 'git+https://me:s3cret@box.example/a.git']],
    ['an artifact with a password', ['--manifest-url', 'oci://me:s3cret@box.example/pods:v1']],
    ['URLs that look the same', ['--manifest-url', `${url}?token=s3cret`, '--manifest-url', `${url}?token=s3cret2`]],
    ['a header without a colon', ['--manifest-url-header', 'Authorization s3cret']],
    ['a header without a name', ['--manifest-url-header', ': s3cret']],
    ['a header of two lines', ['--manifest-url-header', 'A: s3cret\r\nB: c']],
    ['a certificate without a key', ['--manifest-url-cert-file', '/cert.pem']],
    ['a key without a certificate', ['--manifest-url-key-file', '/key.pem']],
    ['something that is no digest', ['--manifest-url-sha256', 's3cret']],
    ['something that is no key', ['--manifest-url-public-key', 's3cret']],
    [
      'one token for two servers',
      ['--manifest-url', url, '--manifest-url', 'https://me:s3cret@x.example', '--manifest-url-token-file', '/t'],
    ],
    [
      'one header for two servers',
      ['--manifest-url', url, '--manifest-url', 'https://x.example', '--manifest-url-header', 'A: s3cret'],
    ],
  ])('%s', (_what, args) => {
    const refusal = thrownBy(() => optionsOf(...args));
    expect(refusal).toBeInstanceOf(UserError);
    expect(JSON.stringify([refusal, String(refusal)])).not.toContain('s3cret');
  });
});

test.each([
  [
    ['--manifest-url-header', 'A'],
    '--manifest-url-header must be NAME:VALUE',
    "Write it in quotes on one line, such as 'X-Site: edge1'.",
  ],
  [
    ['--manifest-url-cert-file', '/cert.pem'],
    '--manifest-url-cert-file and --manifest-url-key-file go together',
    'Add --manifest-url-key-file, or leave out --manifest-url-cert-file.',
  ],
  [
    ['--manifest-url-key-file', '/key.pem'],
    '--manifest-url-cert-file and --manifest-url-key-file go together',
    'Add --manifest-url-cert-file, or leave out --manifest-url-key-file.',
  ],
])('%j is refused with the fix', (args, message, hint) => {
  expect(thrownBy(() => optionsOf(...args))).toMatchObject({ message, hint });
});

function thrownBy(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

const begins =
  'It begins with http://, https://, gce://, ec2://, azure://, openstack://, nocloud://, git+https:// or oci://, ' +
  'such as https://box.example/pods.yaml.';

test.each([
  ['ftp://me:s3cret@box.example/pods.yaml?key=s3cret', 'ftp://… is not a URL of manifests', begins],
  ['box.example/pods.yaml', 'must start with the scheme of a URL', begins],
  ['https://me:s3/cret@box.example/a', 'https://… is not a URL of manifests', 'Its form is https://HOST/PATH.'],
  ['oci://registry.example', 'oci://… is not a URL of manifests', 'Its form is oci://REGISTRY/REPOSITORY:TAG.'],
  ['ec2://x', 'ec2://… is not a URL of manifests', 'Its form is ec2://.'],
  ['gce:x', 'gce:… is not a URL of manifests', 'Its form is gce://KEY.'],
  ['me:s3cret@box.example/pods.yaml', 'must start with the scheme of a URL', begins],
  ['gce://a b', 'gce://… is not a URL of manifests', 'Its form is gce://KEY.'],
  ['nocloud://host/x', 'nocloud://… is not a URL of manifests', 'Its form is nocloud:///FOLDER.'],
  [
    'git+https://host',
    'git+https://… is not a URL of manifests',
    'Its form is git+https://HOST/REPOSITORY//PATH?ref=REF.',
  ],
  [
    'git+http://git.example/fleet.git//a',
    'git+http://… is not a URL of manifests',
    'Its form is git+https://HOST/REPOSITORY//PATH?ref=REF. Without TLS it is only for this machine.',
  ],
])('the wrong URL %s is answered with the form that works', (text, message, hint) => {
  expect(() => optionsOf('--manifest-url', text)).toThrow(
    expect.objectContaining({
      name: 'UserError',
      message: `--manifest-url ${message}`,
      hint: `${hint} See docs/use/manifests.md.`,
    }),
  );
});
