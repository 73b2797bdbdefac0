import type { KeyObject } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { loadJoinedFiles } from '../../../src/engine/config/polled/joined-files.ts';
import type { FetchReport } from '../../../src/engine/config/polled/manifest-origin.ts';
import { sha256 } from '../../../src/engine/config/last-good/last-good-format.ts';
import type { RegistryCredentials } from '../../../src/engine/images/docker-config.ts';
import { LargeBodies } from '../../../src/origins/http/large-bodies.ts';
import { OCIOrigin } from '../../../src/origins/oci/oci-origin.ts';
import { parseOCIURL } from '../../../src/origins/oci/oci-url.ts';
import { ArtifactRegistry, cosignKeys, digestOf, type FakeLayer, tarOf } from '../../fakes/artifact-registry.ts';
import { WebServer } from '../../fakes/web-server.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { fetched } from '../fetching.ts';

const pod = (name: string): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {containers: [{name: c, image: i}]}\n`;

const yaml = (name: string): FakeLayer => ({ mediaType: 'application/yaml', content: pod(name) });

interface Extra {
  onRequest?: (url: string) => void;
  credentials?: RegistryCredentials;
  keys?: readonly string[];
}

function originOf(url: URL, { credentials, keys = [], onRequest }: Extra = {}): OCIOrigin {
  const place = parseOCIURL(url);
  if (place === undefined) throw new Error(`${url.href} is no artifact`);
  return new OCIOrigin({
    ...place,
    url,
    cosignKeyFiles: keys,
    credentials: () => Promise.resolve(credentials),
    proxyFor: (asked) => {
      onRequest?.(asked);
      return undefined;
    },
    largeBodies: new LargeBodies(tmpdir()),
    clock: systemClock,
  });
}

/** Names of the pods of an artifact, with the version and the warnings. */
async function read(origin: OCIOrigin) {
  const notes: FetchReport = { warnings: [], bodyBytes: 0 };
  const { validators, content } = await origin.fetch(undefined, notes, new AbortController().signal);
  const { pods, problems } = loadJoinedFiles(content?.body ?? Buffer.alloc(0), origin.where, { nodeName: 'n' }, 'http');
  return {
    pods: pods.map(({ metadata }) => metadata.name),
    problems: problems.map(({ origin: file, message }) => `${file} ${message}`),
    warnings: notes.warnings.map(({ origin: file, message }) => `${file} ${message}`),
    version: validators.version,
  };
}

const title = (name: string): Record<string, string> => ({ 'org.opencontainers.image.title': name });
const imageLayer = 'application/vnd.oci.image.layer.v1.tar';

describe('layers', () => {
  test('are files and a folder of oras, an archive of Flux, or plain YAML', async () => {
    const registry = await ArtifactRegistry.start();
    const folder = gzipSync(await tarOf({ 'site/b.yaml': pod('b'), 'site/README.md': 'x', 'site/.ci.yaml': 'x' }));
    const unpack = { ...title('site'), 'io.deis.oras.content.unpack': 'true' };
    const version = registry.push([
      { mediaType: imageLayer, content: pod('a'), annotations: title('a.yaml') },
      { mediaType: imageLayer, content: 'no manifest', annotations: title('README.md') },
      { mediaType: `${imageLayer}+gzip`, content: folder, annotations: unpack },
      {
        mediaType: 'application/vnd.cncf.flux.content.v1.tar+gzip',
        content: gzipSync(
          await tarOf({ './c.json': '{"apiVersion":"v1","kind":"List","items":[]}', 'd.yml': pod('d') }),
        ),
      },
      yaml('e'),
    ]);
    const read1 = await read(originOf(registry.url()));
    expect({ ...read1, pods: read1.pods.sort() }).toEqual({
      pods: ['a-n', 'b-n', 'd-n', 'e-n'],
      problems: [],
      warnings: [],
      version,
    });
    expect(registry.log.filter((line) => line.includes(digestOf('no manifest')))).toEqual([]);
  });

  test('replace files of earlier ones, and links are not followed', async () => {
    const registry = await ArtifactRegistry.start();
    const version = registry.push([
      { mediaType: imageLayer, content: await tarOf({ 'a.yaml': pod('old'), 'x.yaml': '-> /etc/passwd' }) },
      { mediaType: imageLayer, content: await tarOf({ 'a.yaml': pod('new') }) },
    ]);
    expect(await read(originOf(registry.url()))).toEqual({
      pods: ['new-n'],
      problems: [],
      warnings: [`${registry.url().href}//x.yaml links of an artifact are not followed`],
      version,
    });
  });
});

describe('an unchanged artifact is not fetched', () => {
  test('behind a tag, which is asked for by HEAD', async () => {
    const registry = await ArtifactRegistry.start();
    const version = registry.push([yaml('web')]);
    const origin = originOf(registry.url());
    const known = { digest: sha256('x'), validators: { version } };
    expect(await fetched(origin, known)).toBe('unchanged');
    expect(registry.log).toEqual(['HEAD manifests/v1 200']);
    registry.push([yaml('other')]);
    expect(await fetched(origin, known)).toContain('{name: other}');
  });

  test('behind a tag without a reported digest, whose blobs stay there', async () => {
    const registry = await ArtifactRegistry.start();
    registry.reportsDigests = false;
    const version = registry.push([yaml('web')]);
    expect(await fetched(originOf(registry.url()), { digest: sha256('x'), validators: { version } })).toBe('unchanged');
    expect(registry.log).toEqual(['HEAD manifests/v1 200', 'GET manifests/v1 200']);
  });

  test('of a pinned digest, for which nothing is asked', async () => {
    const registry = await ArtifactRegistry.start();
    const version = registry.push([yaml('web')]);
    const origin = originOf(registry.url(`:v1@${version}`));
    expect(await read(origin)).toMatchObject({ pods: ['web-n'], version });
    const before = registry.log.length;
    expect(await fetched(origin, { digest: sha256('x'), validators: { version } })).toBe('unchanged');
    expect(registry.log.slice(before)).toEqual([]);
  });

  test('with the same manifests under another digest', async () => {
    const registry = await ArtifactRegistry.start();
    registry.push([yaml('web')]);
    const origin = originOf(registry.url());
    const body = await fetched(origin);
    registry.push([yaml('web'), { mediaType: 'text/markdown', content: 'x' }]);
    expect(await fetched(origin, String(body))).toBe('unchanged');
  });
});

describe('credentials', () => {
  const credentials = { username: 'ada', password: 's3cret', identityToken: '' };

  test('are sent as Basic', async () => {
    const registry = await ArtifactRegistry.start();
    registry.login = { scheme: 'Basic', userAndPassword: 'ada:s3cret' };
    registry.push([yaml('web')]);
    expect(await read(originOf(registry.url(), { credentials }))).toMatchObject({ pods: ['web-n'] });
  });

  test('are sent for a token, which later requests keep', async () => {
    const registry = await ArtifactRegistry.start();
    registry.login = { scheme: 'Bearer', userAndPassword: 'ada:s3cret' };
    const version = registry.push([yaml('web')]);
    const origin = originOf(registry.url(), { credentials });
    expect(await read(origin)).toMatchObject({ pods: ['web-n'] });
    expect(registry.log).toEqual([
      'HEAD manifests/v1 401',
      'GET token for reg,1 repository:team/pods:pull 200',
      'HEAD manifests/v1 200',
      `GET manifests/${version} 200`,
      `GET blobs/${digestOf(pod('web'))} 200`,
    ]);
  });

  test('may be an identity token', async () => {
    const registry = await ArtifactRegistry.start();
    registry.login = { scheme: 'Bearer', userAndPassword: 'ada:s3cret', identityToken: 'r3fresh' };
    registry.push([yaml('web')]);
    const identity = { ...credentials, identityToken: 'r3fresh' };
    expect(await read(originOf(registry.url(), { credentials: identity }))).toMatchObject({ pods: ['web-n'] });
  });

  test.each(['Basic', 'Bearer'] as const)('that are missing or wrong are refused, %s', async (scheme) => {
    const registry = await ArtifactRegistry.start();
    registry.login = { scheme, userAndPassword: 'ada:other' };
    registry.push([yaml('web')]);
    const refusal = { kind: 'refused', message: 'the registry answered 401' };
    expect(await fetched(originOf(registry.url(), { credentials }))).toMatchObject(refusal);
    expect(await fetched(originOf(registry.url()))).toMatchObject(refusal);
  });

  test('are not sent to the server that has the blobs', async () => {
    const registry = await ArtifactRegistry.start();
    registry.login = { scheme: 'Basic', userAndPassword: 'ada:s3cret' };
    registry.push([yaml('web')]);
    const storage = await WebServer.start();
    storage.answer = pod('web');
    registry.blobsAt = storage.origin;
    expect(await read(originOf(registry.url(), { credentials }))).toMatchObject({ pods: ['web-n'] });
    expect(storage.requests.items.map(({ headers }) => headers.authorization)).toEqual([undefined]);
  });
});

/** Pushes an archive of this many files. */
async function pushFiles(registry: ArtifactRegistry, count: number, extension: string): Promise<void> {
  const files = Object.fromEntries(Array.from({ length: count }, (_, index) => [`${index}.${extension}`, 'a']));
  registry.push([{ mediaType: imageLayer, content: await tarOf(files) }]);
}

/** Pushes this many archives with one entry of 9 MiB. */
async function pushBombs(registry: ArtifactRegistry, count: number): Promise<void> {
  const content = gzipSync(await tarOf({ 'x.txt': letters(9 * 1024 * 1024) }));
  registry.push(Array.from({ length: count }, () => ({ mediaType: imageLayer, content })));
}

/** Pushes two archives of this many files. */
async function pushTwice(registry: ArtifactRegistry, count: number): Promise<void> {
  const files = Object.fromEntries(Array.from({ length: count }, (_, index) => [`${index}.txt`, 'a']));
  const content = gzipSync(await tarOf(files));
  registry.push([1, 2].map(() => ({ mediaType: imageLayer, content })));
}

const letters = (count: number): string => 'x'.repeat(count);

describe('what a read costs is bounded', () => {
  test('a token server answers at most 64 KiB', async () => {
    const registry = await ArtifactRegistry.start();
    registry.login = { scheme: 'Bearer', userAndPassword: '' };
    registry.push([yaml('web')]);
    registry.web.answers.set('/token', JSON.stringify({ token: registry.token, x: letters(64 * 1024) }));
    const failure = { kind: 'is a flood', message: 'the body is larger than 64 KiB' };
    expect(await fetched(originOf(registry.url()))).toMatchObject(failure);
  });

  test('a blob is read up to the size that its manifest has', async () => {
    const registry = await ArtifactRegistry.start();
    registry.push([yaml('web')]);
    registry.blobs.set(digestOf(pod('web')), Buffer.from(letters(8 * 1024 * 1024)));
    const notes: FetchReport = { warnings: [], bodyBytes: 0 };
    await expect(originOf(registry.url()).fetch(undefined, notes, AbortSignal.any([]))).rejects.toMatchObject({
      kind: 'is no manifest',
      message: `the registry answered with other content than ${digestOf(pod('web'))}`,
    });
    // The manifest, and one part of the blob.
    expect(notes.bodyBytes).toBeLessThan(128 * 1024);
  });

  test('all bodies and unpacked bytes count, so that a costly one is asked for less often', async () => {
    const registry = await ArtifactRegistry.start();
    const archive = await tarOf({ 'a.yaml': pod('a') });
    const content = gzipSync(archive);
    const version = registry.push([{ mediaType: imageLayer, content }, yaml('web')]);
    const notes: FetchReport = { warnings: [], bodyBytes: 0 };
    await originOf(registry.url()).fetch(undefined, notes, AbortSignal.any([]));
    const read = [registry.blobs.get(version) ?? '', content, archive, pod('web')];
    expect(notes.bodyBytes).toBe(read.reduce((sum, { length }) => sum + length, 0));
  });
});

describe('what is not an artifact with manifests leaves the pods as they are', () => {
  test('a tag that is missing', async () => {
    const registry = await ArtifactRegistry.start();
    expect(await fetched(originOf(registry.url()))).toEqual({
      kind: 'refused',
      message: 'the registry answered 404',
      hint: 'Check the repository and the tag of the URL.',
    });
  });

  test.each<[string, (registry: ArtifactRegistry) => unknown, string | RegExp]>([
    ['an index', (r) => r.pushManifest({ manifests: [] }), 'the artifact is an index of several'],
    ['no layers', (r) => r.pushManifest({}), 'the manifest of the artifact has no layers'],
    ['no manifests', (r) => r.push([{ mediaType: 'text/x', content: 'x' }]), 'there are no manifests in the artifact'],
    [
      'no archive',
      (r) => r.push([{ mediaType: imageLayer, content: Buffer.alloc(1024, 'x') }]),
      /^a layer is no valid archive: /,
    ],
    [
      'an archive that ends early',
      (r) => r.push([{ mediaType: `${imageLayer}+gzip`, content: gzipSync(Buffer.alloc(5000)).subarray(0, 20) }]),
      /^a layer is no valid archive: /,
    ],
    [
      'too large',
      (r) => r.push([{ mediaType: imageLayer, content: Buffer.alloc(10 * 1024 * 1024 + 1) }]),
      'the layers of the artifact are larger than 10 MiB',
    ],
    [
      'a bomb',
      (r) => r.push([{ mediaType: imageLayer, content: gzipSync(Buffer.alloc(41 * 1024 * 1024)) }]),
      'the archives are larger than 40 MiB unpacked',
    ],
    ['a bomb in parts', (r) => pushBombs(r, 5), 'the archives are larger than 40 MiB unpacked'],
    [
      'a long manifest',
      (r) => r.pushManifest({ layers: [], x: letters(512 * 1024) }),
      'the body is larger than 512 KiB',
    ],
    [
      'many layers',
      (r) => r.push(Array.from({ length: 101 }, () => yaml('web'))),
      'the artifact has more than 100 layers',
    ],
    [
      'a long name',
      (r) => r.push([{ mediaType: imageLayer, content: pod('a'), annotations: title(`${'a'.repeat(4092)}.yaml`) }]),
      'a file name is longer than 4096 bytes',
    ],
    [
      'a link whose name has a control character',
      async (r) => r.push([{ mediaType: imageLayer, content: await tarOf({ 'a\u0007.yaml': '-> b' }) }]),
      'a file name has a control character',
    ],
    ['many files', (r) => pushFiles(r, 1001, 'yaml'), 'there are more than 1000 manifests'],
    ['many entries', (r) => pushFiles(r, 10_001, 'txt'), 'the archives have more than 10000 entries'],
    ['many entries in several archives', (r) => pushTwice(r, 5_001), 'the archives have more than 10000 entries'],
  ])('%s', async (_what, push, message) => {
    const registry = await ArtifactRegistry.start();
    await push(registry);
    const failure = await fetched(originOf(registry.url()));
    expect(failure).toMatchObject({ message: expect.stringMatching(message) as string });
  });

  test('other content than that of a digest, in a manifest and in a blob', async () => {
    const registry = await ArtifactRegistry.start();
    const version = registry.push([yaml('web')]);
    registry.blobs.set(digestOf(pod('web')), Buffer.from(pod('eve')));
    const message = (digest: string) => ({ message: `the registry answered with other content than ${digest}` });
    expect(await fetched(originOf(registry.url()))).toMatchObject(message(digestOf(pod('web'))));
    registry.blobs.set(version, Buffer.from('{"layers":[]}'));
    expect(await fetched(originOf(registry.url(`@${version}`)))).toMatchObject(message(version));
  });

  test('a registry that is away', async () => {
    const registry = await ArtifactRegistry.start();
    const origin = originOf(registry.url());
    await registry.web.stop();
    expect(await fetched(origin)).toMatchObject({ kind: 'no answer' });
  });

  test('a registry elsewhere, which is asked by HTTPS', async () => {
    const asked: string[] = [];
    const onRequest = (url: string): void => void asked.push(url);
    await fetched(originOf(new URL('oci://registry.invalid/team/pods:v1'), { onRequest }));
    expect(asked).toEqual(['https://registry.invalid/v2/team/pods/manifests/v1']);
  });

  test('a redirect that leads to an unencrypted server', async () => {
    const registry = await ArtifactRegistry.start();
    registry.push([yaml('web')]);
    registry.blobsAt = 'http://registry.example';
    expect(await fetched(originOf(registry.url()))).toMatchObject({
      message: 'the registry redirects to http://registry.example, which is not encrypted',
    });
  });
});

describe('signatures', () => {
  async function keyFile(pem: string): Promise<string> {
    const path = join(await temporaryFolder(), 'cosign.pub');
    await writeFile(path, pem);
    return path;
  }

  const [ours, other] = [cosignKeys(), cosignKeys()];

  test('one of the keys must have signed the digest, and a signed artifact is trusted after a restart', async () => {
    const registry = await ArtifactRegistry.start();
    const digest = registry.push([yaml('web')]);
    registry.sign(digest, [other.privateKey, ours.privateKey]);
    const origin = originOf(registry.url(), { keys: [await keyFile(ours.pem)] });
    expect(await fetched(origin)).toContain('{name: web}');
    const { validators, content } = await origin.fetch(undefined, { warnings: [], bodyBytes: 0 }, AbortSignal.any([]));
    const { body = Buffer.alloc(0), signature } = content ?? {};
    const evidence = { digest: sha256(body), validators, signature, lastSignedAtSeconds: undefined };
    await expect(origin.trust(body, evidence)).resolves.toBeUndefined();
    const renewed = originOf(registry.url(), { keys: [await keyFile(other.pem)] });
    const unsigned = `no key of --manifest-url-cosign-key signed ${digest}`;
    await expect(
      originOf(registry.url(), { keys: [await keyFile(cosignKeys().pem)] }).trust(body, evidence),
    ).rejects.toThrow(unsigned);
    await expect(renewed.trust(body, { ...evidence, signature: undefined })).rejects.toThrow(unsigned);
    const older = { ...evidence, validators: { version: digestOf('older') } };
    await expect(origin.trust(body, older)).rejects.toThrow('no key of --manifest-url-cosign-key signed sha256:');
  });

  test('an index of referrers has at most 512 KiB', async () => {
    const registry = await ArtifactRegistry.start();
    const digest = registry.push([yaml('web')]);
    registry.referrers?.set(digest, Buffer.from(JSON.stringify({ manifests: [], x: letters(512 * 1024) })));
    const failure = { kind: 'is a flood', message: 'the body is larger than 512 KiB' };
    expect(await fetched(originOf(registry.url(), { keys: [await keyFile(ours.pem)] }))).toMatchObject(failure);
  });

  test.each([
    ['that the registry lists', true],
    ['in a tag of a registry that lists none', false],
  ])('a bundle of cosign 3 may have the signature, as a referrer %s', async (_where, hasReferrers) => {
    const registry = await ArtifactRegistry.start();
    if (!hasReferrers) registry.referrers = undefined;
    const digest = registry.push([yaml('web')]);
    registry.signBundle(digest, ours.privateKey);
    const origin = originOf(registry.url(), { keys: [await keyFile(ours.pem)] });
    const { validators, content } = await origin.fetch(undefined, { warnings: [], bodyBytes: 0 }, AbortSignal.any([]));
    const { body = Buffer.alloc(0), signature } = content ?? {};
    const evidence = { digest: sha256(body), validators, signature, lastSignedAtSeconds: undefined };
    await expect(origin.trust(body, evidence)).resolves.toBeUndefined();
    const withoutType = JSON.stringify({ ...(JSON.parse(signature ?? '') as object), payloadType: undefined });
    await expect(origin.trust(body, { ...evidence, signature: withoutType })).rejects.toThrow('no key of');
  });

  test.each([
    [49, { kind: undefined }],
    [50, { kind: 'is no manifest' }],
  ])('behind %i other referrers is found, or not', async (others, expected) => {
    const registry = await ArtifactRegistry.start();
    const digest = registry.push([yaml('web')]);
    registry.signBundle(digest, ours.privateKey);
    const { manifests } = JSON.parse(String(registry.referrers?.get(digest))) as { manifests: object[] };
    const other = { digest: registry.push([yaml('other')], 'other') };
    const index = { manifests: [...Array.from({ length: others }, () => other), ...manifests] };
    registry.referrers?.set(digest, Buffer.from(JSON.stringify(index)));
    const found = await fetched(originOf(registry.url(), { keys: [await keyFile(ours.pem)] }));
    expect({ kind: (found as { kind?: string }).kind }).toEqual(expected);
  });

  test.each<[string, (registry: ArtifactRegistry, digest: string, key: KeyObject) => void]>([
    ['none', () => undefined],
    [
      'of another key',
      (registry, digest) => {
        registry.sign(digest, [other.privateKey]);
      },
    ],
    [
      'for another digest',
      (registry, digest, key) => {
        registry.sign(digest, [key], digestOf('other'));
      },
    ],
    [
      'of another type',
      (registry, digest, key) => {
        registry.sign(digest, [key], digest, 'attestation');
      },
    ],
    [
      'in a bundle of another key',
      (registry, digest) => {
        registry.signBundle(digest, other.privateKey);
      },
    ],
    [
      'in a bundle for another digest',
      (registry, digest, key) => {
        registry.signBundle(digest, key, { subject: [{ digest: { sha256: digestOf('other').slice(7) } }] });
      },
    ],
    [
      'in a bundle with an attestation',
      (registry, digest, key) => {
        registry.signBundle(digest, key, { predicateType: 'https://slsa.dev/provenance/v1' });
      },
    ],
    [
      'in a bundle with another statement',
      (registry, digest, key) => {
        registry.signBundle(digest, key, { _type: 'https://in-toto.io/Statement/v0.1' });
      },
    ],
    [
      'in a referrer that is an index',
      (registry, digest) => {
        const referrer = registry.pushManifest({ manifests: [] }, 'index');
        registry.referrers?.set(digest, Buffer.from(JSON.stringify({ manifests: [{ digest: referrer }, {}, 5] })));
      },
    ],
  ])('%s', async (_what, sign) => {
    const registry = await ArtifactRegistry.start();
    const digest = registry.push([yaml('web')]);
    sign(registry, digest, ours.privateKey);
    expect(await fetched(originOf(registry.url(), { keys: [await keyFile(ours.pem)] }))).toEqual({
      kind: 'is no manifest',
      message: `no key of --manifest-url-cosign-key signed ${digest}`,
      hint: `Sign it with cosign sign --key, so that the tag ${digest.replace(':', '-')}.sig or a referrer has it.`,
    });
    expect(registry.log).not.toContain(`GET blobs/${digestOf(pod('web'))} 200`);
  });

  test.each([
    ['of another curve', cosignKeys('P-384').pem],
    ['that is private', ours.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()],
    ['that is none', 'x'],
  ])('a key %s is refused before anything is trusted', async (_what, pem) => {
    const registry = await ArtifactRegistry.start();
    registry.push([yaml('web')]);
    const path = await keyFile(pem);
    expect(await fetched(originOf(registry.url(), { keys: [path] }))).toMatchObject({
      kind: 'refused',
      message: `${path} contains no public key of ECDSA P-256`,
    });
  });
});

const hex = 'a'.repeat(64);
test.each([
  ['oci://box.example/a/b:v1', ['box.example', 'a/b', 'v1', 'box.example/a/b']],
  ['oci://box.example:5000/a', ['box.example:5000', 'a', 'latest', 'box.example:5000/a']],
  [`oci://box.example/a:v1@sha256:${hex}`, ['box.example', 'a', `sha256:${hex}`, 'box.example/a']],
  ['oci://docker.io/a', ['registry-1.docker.io', 'library/a', 'latest', 'docker.io/library/a']],
  ['oci://me:s3cret@box.example/a', undefined],
  ['oci://box.example/a?x=s3cret', undefined],
  ['oci://box.example/a@sha256:b', undefined],
  ['oci://box.example/', undefined],
  ['oci://box.example/a/../b', ['box.example', 'b', 'latest', 'box.example/b']],
  ['oci://a', undefined],
])('%s', (text, parts) => {
  const place = parseOCIURL(new URL(text));
  expect(place && [place.host, place.repository, place.reference, place.name]).toEqual(parts);
});
