import { readdirSync } from 'node:fs';
import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { parseMinisignPublicKey } from '../../../../src/origins/http/minisign.ts';
import type { ManifestTrust } from '../../../../src/origins/http/trust-manifest.ts';
import { MinisignSigner } from '../../../fakes/minisign-signer.ts';
import { WebServer } from '../../../fakes/web-server.ts';
import { Asking, podManifest } from './asking.ts';

const [web, other] = [podManifest('web'), podManifest('other')];
const webRuns = { pods: ['web-edge1'], problems: [] };
const firstLifeAt = Date.UTC(2025, 0, 1);
const stays = 'warning pods stay as the server declared them last';
const refused = expect.stringMatching(/^error connect ECONNREFUSED/) as string;

let server: WebServer;

beforeEach(async () => {
  server = await WebServer.start();
  server.answer = (request, response) => {
    const isKnown = request.headers['if-none-match'] === '"1"';
    response.writeHead(isKnown ? 304 : 200, { etag: '"1"' }).end(isKnown ? undefined : web);
  };
});

/** An agent that got the pod of the server, and ended. */
async function stopped(trust: ManifestTrust = { sha256: [], publicKeys: [] }, query = ''): Promise<Asking> {
  const agent = await Asking.start({ url: server.url(`/pods.yaml${query}`), trust });
  expect(await agent.next()).toEqual(webRuns);
  await agent.stop();
  await agent.clock.advance(3_600_000);
  return agent;
}

test('a start without the server brings the pods of the last life at once, and says how old they are', async () => {
  const agent = await stopped();
  await server.stop();
  await agent.restart();
  expect(await agent.next()).toEqual({ pods: ['web-edge1'], problems: [refused, stays] });
  expect(agent.recorder.problems.map(({ lastGoodAt }) => lastGoodAt)).toEqual([undefined, firstLifeAt]);
  await server.start();
  expect(await agent.askAgain()).toEqual({ pods: undefined, problems: [] });
  expect(server.requests.items.at(-1)?.headers['if-none-match']).toBe('"1"');
});

test('weeks without the server, and then a power cut, remove no pod', async () => {
  const agent = await stopped();
  await server.stop();
  await agent.restart();
  await agent.next();
  agent.clock.setWallClock(firstLifeAt + 21 * 24 * 3_600_000);
  expect(await agent.askAgain()).toEqual({ pods: undefined, problems: [refused, stays] });
  await agent.restart();
  expect(await agent.next()).toEqual({ pods: ['web-edge1'], problems: [refused, stays] });
  expect(agent.recorder.problems.at(-1)?.lastGoodAt).toBe(firstLifeAt);
});

test('a start waits two seconds for a slow server', async () => {
  const agent = await stopped();
  server.answer = () => undefined;
  await agent.restart();
  await server.requests.next((request) => request.headers['if-none-match'] === '"1"');
  await agent.clock.advance(1999);
  expect(agent.recorder.handed).toEqual([]);
  await agent.clock.advance(1);
  const slow = 'warning the server has not answered yet';
  expect(await agent.next()).toEqual({ pods: ['web-edge1'], problems: [slow, stays] });
  await agent.clock.advance(8000);
  const problems = ['error the server sent nothing for 10 s', stays];
  expect(await agent.next()).toEqual({ pods: undefined, problems });
});

test('a start with the server takes nothing else than what that says', async () => {
  const agent = await stopped();
  server.answer = { headers: { etag: '"2"' }, body: other };
  await agent.restart();
  expect(await agent.next()).toEqual({ pods: ['other-edge1'], problems: [] });
  server.answer = { status: 304 };
  await agent.restart();
  expect(await agent.next()).toEqual({ pods: ['other-edge1'], problems: [] });
});

test.each<[string, (url: string) => Partial<Parameters<typeof Asking.start>[0]>]>([
  ['query', (url) => ({ url: url.replace('group=a', 'group=b') })],
  ['user', (url) => ({ url: url.replace('//', '//robot:s3cret@') })],
  ['header', () => ({ headers: [['X-Group', 'b']] })],
])('a start with another %s sends no tags of the body before, and keeps its pods', async (_what, changed) => {
  // Queries and users are not shown, so all of them have one name.
  const agent = await stopped(undefined, '?group=a');
  await server.stop();
  await agent.restart(changed(server.url('/pods.yaml?group=a')));
  const handed = await agent.next();
  await server.start();
  await agent.askAgain();
  expect(agent.recorder.handed.at(-1)).toEqual(webRuns);
  expect(server.requests.items.at(-1)?.headers['if-none-match']).toBeUndefined();
  await agent.askAgain();
  expect(server.requests.items.at(-1)?.headers['if-none-match']).toBe('"1"');
  expect(handed).toEqual({ pods: ['web-edge1'], problems: [refused, stays] });
});

test('headers that a reload replaces send no tags of the body before', async () => {
  const headers: [string, string][] = [['X-Group', 'a']];
  const agent = await Asking.start({ url: server.url(), headers });
  await agent.next();
  headers.splice(0, Infinity, ['X-Group', 'b']);
  expect(await agent.askAgain()).toEqual(webRuns);
  expect(await agent.askAgain()).toEqual({ pods: undefined, problems: [] });
  const sent = server.requests.items.map(({ headers: got }) => [got['x-group'], got['if-none-match']]);
  expect(sent).toEqual([
    ['a', undefined],
    ['b', undefined],
    ['b', '"1"'],
  ]);
});

test('an empty list is kept like any other', async () => {
  const agent = await stopped();
  server.answer = '{"apiVersion":"v1","kind":"List","items":[]}';
  await agent.restart();
  expect(await agent.next()).toEqual({ pods: [], problems: [] });
  await server.stop();
  await agent.restart();
  expect((await agent.next()).pods).toEqual([]);
});

test('a bad body is not kept', async () => {
  const agent = await stopped();
  server.answer = '7';
  await agent.restart();
  expect((await agent.next()).pods).toEqual(['web-edge1']);
  await server.stop();
  await agent.restart();
  expect((await agent.next()).pods).toEqual(['web-edge1']);
});

test('of another digest than is to be believed it is not taken, and the server is asked for all of it', async () => {
  const agent = await stopped();
  await server.stop();
  await agent.restart({ trust: { sha256: ['0'.repeat(64)], publicKeys: [] } });
  const unusable: unknown = expect.stringMatching(
    /^warning the manifest of the last run is not used: the SHA-256 of .* trusted$/,
  );
  expect(await agent.next()).toEqual({ pods: undefined, problems: [refused, unusable] });
  await agent.restart();
  expect((await agent.next()).pods).toEqual(['web-edge1']);
});

test('its signature is verified again, with the keys of today', async () => {
  const [mine, theirs] = [new MinisignSigner(), new MinisignSigner()];
  const trusting = (...signers: MinisignSigner[]): ManifestTrust => ({
    sha256: [],
    publicKeys: signers.flatMap(({ publicKey }) => parseMinisignPublicKey(publicKey) ?? []),
  });
  server.answers.set('/pods.yaml.minisig', mine.sign(web));
  const agent = await stopped(trusting(mine));
  await server.stop();
  await agent.restart();
  expect((await agent.next()).pods).toEqual(['web-edge1']);
  await agent.restart({ trust: trusting(theirs) });
  expect((await agent.next()).pods).toBeUndefined();
  await agent.restart({ trust: trusting(theirs, mine) });
  expect((await agent.next()).pods).toEqual(['web-edge1']);
});

test('what was torn down is not taken, yet nothing that was signed before it is either', async () => {
  const signer = new MinisignSigner();
  const key = parseMinisignPublicKey(signer.publicKey);
  server.answers.set('/pods.yaml.minisig', signer.sign(web));
  const agent = await stopped({ sha256: [], publicKeys: key === undefined ? [] : [key] });
  await agent.tearDown();
  const older = signer.sign(other, { comment: 'timestamp:1699999999' });
  server.answers.set('/pods.yaml.minisig', older);
  server.answer = other;
  await agent.restart();
  const problem: unknown = expect.stringMatching(/it was signed at .*, before the last used one/);
  expect(await agent.next()).toEqual({ pods: undefined, problems: [problem] });
  server.answers.set('/pods.yaml.minisig', signer.sign(other));
  await agent.askAgain();
  expect(agent.recorder.handed.at(-1)?.pods).toEqual(['other-edge1']);
});

test('a start without the key loses no time of a signature', async () => {
  const signer = new MinisignSigner();
  const key = parseMinisignPublicKey(signer.publicKey);
  const trusting: ManifestTrust = { sha256: [], publicKeys: key === undefined ? [] : [key] };
  server.answers.set('/pods.yaml.minisig', signer.sign(web));
  const agent = await stopped(trusting);
  await agent.restart({ trust: { sha256: [], publicKeys: [] } });
  await agent.next();
  server.answer = other;
  await agent.askAgain();
  expect(agent.recorder.handed.at(-1)?.pods).toEqual(['other-edge1']);
  server.answers.set('/pods.yaml.minisig', signer.sign(other, { comment: 'timestamp:1699999999' }));
  await agent.restart({ trust: trusting });
  await agent.next();
  await agent.askAgain();
  const problem: unknown = expect.stringMatching(/it was signed at .*, before the last used one/);
  expect(agent.recorder.handed.at(-1)?.problems).toContainEqual(problem);
});

test('without a signature it is not taken when there has to be one', async () => {
  const agent = await stopped();
  await server.stop();
  const key = parseMinisignPublicKey(new MinisignSigner().publicKey);
  await agent.restart({ trust: { sha256: [], publicKeys: key === undefined ? [] : [key] } });
  expect((await agent.next()).pods).toBeUndefined();
});

test('files on disk have no secret of the URL, and only their owner can read them', async () => {
  const agent = await stopped(undefined, '?token=s3cret');
  const [name = '', ...others] = await readdir(agent.lastGoodFolder);
  expect(others).toEqual([]);
  const path = join(agent.lastGoodFolder, name);
  expect(name + (await readFile(path, 'utf8'))).not.toContain('s3cret');
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test('a signed body that no disk keeps is used, and a warning says what that means', async () => {
  const signer = new MinisignSigner();
  const key = parseMinisignPublicKey(signer.publicKey);
  const sign = (text: string, seconds: number): void => {
    server.answer = text;
    server.answers.set('/pods.yaml.minisig', signer.sign(text, { comment: `timestamp:${seconds}` }));
  };
  sign(web, 1_700_000_001);
  const agent = await stopped({ sha256: [], publicKeys: key === undefined ? [] : [key] });
  const aside = `${agent.lastGoodFolder}.aside`;
  await rename(agent.lastGoodFolder, aside);
  await writeFile(agent.lastGoodFolder, 'not a folder');
  sign(other, 1_700_000_003);
  await agent.restart();
  const unsaved = 'warning the manifest is not saved, so after a restart one that was signed earlier may be accepted';
  expect(await agent.next()).toEqual({ pods: ['other-edge1'], problems: [unsaved] });
  expect(await agent.askAgain()).toEqual({ pods: undefined, problems: [unsaved] });
  await rm(agent.lastGoodFolder);
  await rename(aside, agent.lastGoodFolder);
  expect(await agent.askAgain()).toEqual({ pods: undefined, problems: [] });
  sign(web, 1_700_000_002);
  await agent.restart();
  const tooOld: unknown = expect.stringMatching(/^error the body is not trusted: it was signed at .*, before the last/);
  expect(await agent.next()).toEqual({ pods: ['other-edge1'], problems: [tooOld, stays] });
});

test('only the signed lines of a signature are saved, and a long one is refused', async () => {
  const signer = new MinisignSigner();
  const key = parseMinisignPublicKey(signer.publicKey);
  const signature = signer.sign(web, { comment: 'timestamp:1700000001' });
  server.answers.set('/pods.yaml.minisig', `${signature}${'\u0001'.repeat(1024)}`);
  const agent = await stopped({ sha256: [], publicKeys: key === undefined ? [] : [key] });
  const [name = ''] = await readdir(agent.lastGoodFolder);
  const [, about = ''] = (await readFile(join(agent.lastGoodFolder, name), 'utf8')).split('\n');
  expect((JSON.parse(about) as { fetched: unknown }).fetched).toMatchObject({ signature });
  server.answer = other;
  const padded = `${signer.sign(other, { comment: 'timestamp:1700000003' })}${'\u0001'.repeat(2 * 1024 * 1024)}`;
  server.answers.set('/pods.yaml.minisig', padded);
  await agent.restart();
  const problems = ['error no signature: the body is larger than 16 KiB', stays];
  expect(await agent.next()).toEqual({ pods: ['web-edge1'], problems });
});

test('a signed body is on the disk before it is used', async () => {
  const signer = new MinisignSigner();
  const key = parseMinisignPublicKey(signer.publicKey);
  server.answers.set('/pods.yaml.minisig', signer.sign(web));
  const agent = await Asking.start({
    url: server.url(),
    trust: { sha256: [], publicKeys: key === undefined ? [] : [key] },
  });
  expect(await agent.next()).toEqual(webRuns);
  expect(readdirSync(agent.lastGoodFolder)).toEqual([expect.stringMatching(/^http-[0-9a-f]{32}-[0-9a-f]{32}$/)]);
});

test('a disk that keeps nothing keeps nobody from running', async () => {
  const agent = await stopped();
  await rm(agent.lastGoodFolder, { recursive: true });
  await writeFile(agent.lastGoodFolder, 'not a folder');
  server.answer = other;
  await agent.restart();
  expect(await agent.next()).toEqual({ pods: ['other-edge1'], problems: [] });
});
