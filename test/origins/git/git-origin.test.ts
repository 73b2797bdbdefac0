import { access, readdir } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import type { FetchReport } from '../../../src/engine/config/polled/manifest-origin.ts';
import { loadJoinedFiles } from '../../../src/engine/config/polled/joined-files.ts';
import { sha256 } from '../../../src/engine/config/last-good/last-good-format.ts';
import { GitOrigin } from '../../../src/origins/git/git-origin.ts';
import { parseGitURL } from '../../../src/origins/git/git-url.ts';
import { GitServer } from '../../fakes/git-server.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { fetched } from '../fetching.ts';

const pod = (name: string): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {containers: [{name: c, image: i}]}\n`;

async function originOf(url: URL): Promise<{ origin: GitOrigin; workFolder: string }> {
  const place = parseGitURL(url);
  if (place === undefined) throw new Error(`${url.href} is no URL of git`);
  const workFolder = await temporaryFolder();
  return { origin: new GitOrigin({ ...place, url, workFolder }), workFolder };
}

/** Names of the pods at a URL, with the version and the warnings. */
async function read(url: URL) {
  const { origin, workFolder } = await originOf(url);
  const notes: FetchReport = { warnings: [], bodyBytes: 0 };
  const { validators, content } = await origin.fetch(undefined, notes, new AbortController().signal);
  const { pods, problems } = loadJoinedFiles(content?.body ?? Buffer.alloc(0), origin.where, { nodeName: 'n' }, 'http');
  expect(await readdir(workFolder)).toEqual([]);
  return {
    pods: pods.map(({ metadata }) => metadata.name),
    problems: problems.map(({ origin: file, message }) => `${file} ${message}`),
    warnings: notes.warnings.map(({ origin: file, message }) => `${file} ${message}`),
    version: validators.version,
  };
}

test('a repository declares the manifests of its folders, and is known by its commit', async () => {
  const server = await GitServer.start();
  const version = await server.commit({
    'web.yaml': pod('web'),
    'deep/er/db.json': JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [] }),
    '.github/ci.yaml': 'no manifest',
    'README.md': 'no manifest',
  });
  expect(await read(server.url())).toEqual({ pods: ['web-n'], problems: [], warnings: [], version });
});

test('a repository may have any number of files that are no manifests', async () => {
  const server = await GitServer.start();
  const folder = 'f'.repeat(200);
  const others = Array.from({ length: 5000 }, (_other, index) => [`${folder}/${index}.md`, '']);
  const version = await server.commit({ 'web.yaml': pod('web'), ...(Object.fromEntries(others) as object) });
  expect(await read(server.url())).toEqual({ pods: ['web-n'], problems: [], warnings: [], version });
});

test('a path, a branch, a tag and a commit choose', async () => {
  const server = await GitServer.start();
  const first = await server.commit({ 'fleet/a.yaml': pod('first'), 'fleetb/b.yaml': pod('b') });
  await server.git('-c', 'user.name=t', '-c', 'user.email=t@box.example', 'tag', '--annotate', '--message=t', 'v1');
  await server.git('checkout', '--quiet', '-b', 'site/east');
  const second = await server.commit({ 'fleet/a.yaml': pod('second') });
  await server.git('checkout', '--quiet', 'main');
  const versions = async (rest: string) => {
    const { pods, version } = await read(server.url(rest));
    return [pods.join(), version];
  };
  expect(await versions('//fleet')).toEqual(['first-n', first]);
  expect(await versions('//fleet/a.yaml?ref=main')).toEqual(['first-n', first]);
  expect(await versions('//fleet/?ref=site/east')).toEqual(['second-n', second]);
  expect(await versions('//fleet?ref=v1')).toEqual(['first-n', first]);
  expect(await versions(`//fleet?ref=${first}`)).toEqual(['first-n', first]);
});

test('an unchanged commit is not fetched again', async () => {
  const server = await GitServer.start();
  const version = await server.commit({ 'web.yaml': pod('web') });
  const { origin } = await originOf(server.url());
  const before = server.web.requests.items.length;
  expect(await fetched(origin, { digest: sha256('x'), validators: { version } })).toBe('unchanged');
  const asked = server.web.requests.items.slice(before).map(({ url }) => url);
  expect(asked.filter((url) => url === '/.git/git-upload-pack').length).toBeLessThan(2);
  await server.commit({ 'web.yaml': pod('web2') });
  expect(await fetched(origin, { digest: sha256('x'), validators: { version } })).toContain('{name: web2}');
});

test('a commit without manifests is fetched once', async () => {
  const server = await GitServer.start();
  await server.commit({ 'README.md': 'none' });
  const { origin } = await originOf(server.url());
  const fetches = (): number => server.web.requests.items.filter(isFetch).length;
  const isFetch = ({ method, url }: IncomingMessage): boolean => method === 'POST' && url === '/.git/git-upload-pack';
  const failure = expect.objectContaining({ message: 'there are no manifests in the repository' }) as unknown;
  expect(await fetched(origin)).toEqual(failure);
  const first = fetches();
  expect(await fetched(origin)).toEqual(failure);
  const second = fetches();
  await server.commit({ 'web.yaml': pod('web') });
  expect(await fetched(origin)).toContain('{name: web}');
  // One POST lists the branches, two fetch a commit.
  expect([first, second - first, fetches() - second]).toEqual([3, 1, 3]);
});

test('a commit with the same manifests brings nothing new', async () => {
  const server = await GitServer.start();
  await server.commit({ 'web.yaml': pod('web') });
  const { origin } = await originOf(server.url());
  const body = await fetched(origin);
  await server.commit({ 'README.md': 'more' });
  expect(await fetched(origin, String(body))).toBe('unchanged');
});

test('links are never followed, and a file can claim no other place', async () => {
  const server = await GitServer.start();
  await server.commit({ 'web.yaml': pod('web'), 'host.yaml': '-> /etc/passwd', 'up.yaml': '-> ../../secret.yaml' });
  const { pods, warnings } = await read(server.url());
  expect({ pods, warnings }).toEqual({
    pods: ['web-n'],
    warnings: ['host.yaml', 'up.yaml'].map(
      (name) => `${server.url().href}//${name} links of a repository are not followed`,
    ),
  });
});

test('hooks and filters of a repository do not run', async () => {
  const server = await GitServer.start();
  const mark = `${await temporaryFolder()}/mark`;
  await server.commit({ 'web.yaml': pod('web'), '.gitattributes': '*.yaml filter=evil' });
  await server.git('config', 'filter.evil.smudge', `touch ${mark}`);
  await read(server.url());
  await expect(access(mark)).rejects.toThrow('ENOENT');
});

test('a large file costs no memory, and an object that needs too much of it is a flood', async () => {
  const server = await GitServer.start();
  const version = await server.commit({ 'web.yaml': pod('web'), 'disk.img': '\0'.repeat(140 * 1024 * 1024) });
  expect(await read(server.url())).toEqual({ pods: ['web-n'], problems: [], warnings: [], version });
  // Only files can be read in parts.
  await server.commit({ 'web.yaml': pod('web2') }, 'x'.repeat(130 * 1024 * 1024));
  const { origin, workFolder } = await originOf(server.url());
  expect(await fetched(origin)).toEqual({
    kind: 'is a flood',
    message: expect.stringMatching(/^git needs too much memory: attempting to allocate \d+ over limit \d+$/) as string,
    hint: 'It is probably no repository of manifests. Check the URL.',
  });
  expect(await readdir(workFolder)).toEqual([]);
});

test.each<[string, string, string | RegExp]>([
  ['a branch', '?ref=gone', 'the repository has no gone'],
  ['a folder', '//gone', 'there are no manifests in gone'],
  ['a commit', `?ref=${'a'.repeat(40)}`, /^git: remote error: upload-pack: not our ref a+$/],
])('%s that is missing leaves the pods as they are', async (_what, rest, message) => {
  const server = await GitServer.start();
  await server.commit({ 'web.yaml': pod('web') });
  const { origin, workFolder } = await originOf(server.url(rest));
  expect(await fetched(origin)).toMatchObject({ message: expect.stringMatching(message) as string });
  expect(await readdir(workFolder)).toEqual([]);
});

test('a server that is away, or that wants a password, is not an answer', async () => {
  const server = await GitServer.start();
  const { origin } = await originOf(server.url());
  server.web.answer = { status: 401, headers: { 'www-authenticate': 'Basic realm="x"' } };
  expect(await fetched(origin)).toMatchObject({
    kind: 'no answer',
    message: expect.stringMatching(/^git: (unable|could not|Auth)/) as string,
  });
  await server.web.stop();
  expect(await fetched(origin)).toMatchObject({
    kind: 'no answer',
    message: expect.stringMatching(/^git: unable to access/) as string,
  });
});

test('a redirect is not followed, also to the same server', async () => {
  const [server, other] = [await GitServer.start(), await GitServer.start()];
  await other.commit({ 'web.yaml': pod('web') });
  for (const target of [other.url(), server.url('')]) {
    const { origin } = await originOf(server.url());
    server.web.answer = {
      status: 302,
      headers: { location: `${target.href.replace(/^git\+/, '')}/info/refs?service=git-upload-pack` },
    };
    expect(await fetched(origin)).toMatchObject({
      kind: 'no answer',
      hint: 'Redirects are not followed. Name the URL to which the server redirects.',
    });
  }
  expect(other.web.requests.items).toEqual([]);
});

test('a folder and a file may have names that look like options', async () => {
  const server = await GitServer.start();
  await server.commit({ '-r/a.yaml': pod('a'), '--name-only/b.yaml': pod('b'), 'c.yaml': pod('c') });
  expect((await read(server.url('//-r'))).pods).toEqual(['a-n']);
  expect((await read(server.url('//--name-only'))).pods).toEqual(['b-n']);
});

test('another protocol than that of the URL is refused, behind a redirect too', async () => {
  const server = await GitServer.start();
  const { origin } = await originOf(server.url());
  server.web.answer = { status: 302, headers: { location: 'ftp://127.0.0.1:1/repository/info/refs' } };
  expect(await fetched(origin)).toMatchObject({ kind: 'no answer' });
});

test.each([
  ['git+https://box.example/a.git', { repository: 'https://box.example/a.git', path: '', ref: 'HEAD' }],
  ['git+https://box.example/a//b%20c/d/?ref=v1.2', { repository: 'https://box.example/a', path: 'b c/d', ref: 'v1.2' }],
  ['git+https://me:s3cret@box.example/a.git', undefined],
  ['git+https://box.example/a.git//b%2f..%2f..%2fc', undefined],
  ['git+https://box.example/a.git?ref=--upload-pack=x', undefined],
  ['git+https://box.example/a.git?token=s3cret', undefined],
  ['git+https://box.example/', undefined],
  ['git+ssh://box.example/a.git', undefined],
  ['git+file:///a.git', undefined],
])('%s', (text, place) => {
  expect(parseGitURL(new URL(text))).toEqual(place);
});
