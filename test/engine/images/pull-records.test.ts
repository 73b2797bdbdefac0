import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { Image } from '../../../src/cri/generated/cri.ts';
import { credentialHash, type ImagePullSecret, recordFileName } from '../../../src/engine/images/pull-record.ts';
import { PullRecords } from '../../../src/engine/images/pull-records.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { lineLogger } from '../../fakes/line-logger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const image = 'r.example/app:1';
const id = `sha256:${'a'.repeat(64)}`;
const present = Image.fromPartial({ id, repoTags: [image] });
const login: ImagePullSecret = {
  uid: '',
  namespace: 'default',
  name: 'login',
  credentialHash: credentialHash({ username: 'ada', password: 'ada-pw', identityToken: '' }),
};
const other: ImagePullSecret = { ...login, name: 'other', credentialHash: 'b' };

let rootDir: string;
let clock: FakeClock;
let lines: string[];

beforeEach(async () => {
  rootDir = await temporaryFolder();
  clock = new FakeClock();
  lines = [];
});

/** The records of an agent that starts now. */
async function open(): Promise<PullRecords> {
  const log = lineLogger();
  lines = log.lines;
  const verification = { policy: 'NeverVerifyPreloadedImages' as const, allowlist: [] };
  const records = new PullRecords({ rootDir, verification, loadedImages: [], clock, logger: log.logger });
  await records.load();
  return records;
}

const access = async (secrets: ImagePullSecret[] = []): Promise<string> =>
  (await open()).access(image, present, secrets).result;

const folderOf = (kind: 'pulling' | 'pulled'): string => join(rootDir, 'image_manager', kind);
const recordPath = join('image_manager', 'pulled', recordFileName(id));

async function files(): Promise<string[]> {
  const list = async (kind: 'pulling' | 'pulled'): Promise<string[]> =>
    (await readdir(folderOf(kind)).catch(() => [])).map((name) => `${kind}/${name}`);
  return [...(await list('pulling')), ...(await list('pulled'))];
}

async function pullWith(secret: ImagePullSecret | undefined): Promise<PullRecords> {
  const records = await open();
  await records.pullBegins(image);
  await records.pullSucceeded(image, id, secret);
  return records;
}

test('the files of a pull are those of the kubelet, readable only by their owner, and hold no credentials', async () => {
  const records = await open();
  await records.pullBegins(image);
  const intent = join(folderOf('pulling'), recordFileName(image));
  expect(JSON.parse(await readFile(intent, 'utf8'))).toEqual({
    kind: 'ImagePullIntent',
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    image,
  });
  await records.pullSucceeded(image, id, login);
  expect(await files()).toEqual([`pulled/${recordFileName(id)}`]);
  const record = join(rootDir, recordPath);
  expect(JSON.parse(await readFile(record, 'utf8'))).toEqual({
    kind: 'ImagePulledRecord',
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    lastUpdatedTime: new Date(clock.now()).toISOString().replace('.000', ''),
    imageRef: id,
    credentialMapping: {
      'r.example/app': {
        kubernetesSecrets: [
          {
            uid: '',
            namespace: 'default',
            name: 'login',
            // SHA-256 of {"username":"ada","password":"ada-pw"}
            credentialHash: 'a5d3b7d4032bc7e815fae4019aba560db6dffd709363088333accf4ed5af81f4',
          },
        ],
      },
    },
  });
  const modes = await Promise.all([record, folderOf('pulled'), folderOf('pulling')].map((path) => stat(path)));
  expect(modes.map(({ mode }) => (mode & 0o777).toString(8))).toEqual(['600', '700', '700']);
});

test('who may use an image is known to the next agent', async () => {
  await pullWith(login);
  expect([await access(), await access([login]), await access([other])]).toEqual([
    'mustAuthenticate',
    'credentialRecordFound',
    'mustAuthenticate',
  ]);
});

test('each Secret that pulled an image may use it, until one pull needs none', async () => {
  await pullWith(login);
  await pullWith(other);
  expect([await access([login]), await access([other]), await access()]).toEqual([
    'credentialRecordFound',
    'credentialRecordFound',
    'mustAuthenticate',
  ]);
  await pullWith(undefined);
  await pullWith(login);
  expect(await access()).toBe('credentialRecordFound');
  expect(JSON.parse(await readFile(join(rootDir, recordPath), 'utf8'))).toMatchObject({
    credentialMapping: { 'r.example/app': { nodePodsAccessible: true } },
  });
});

test('the new content of a Secret is recorded when it is used', async () => {
  const records = await pullWith(login);
  const changed = { ...login, credentialHash: 'c' };
  expect(records.access(image, present, [changed]).result).toBe('credentialRecordFound');
  await records.close();
  expect(await access([{ ...changed, name: 'copy' }])).toBe('credentialRecordFound');
  expect(await access([{ ...login, name: 'copy' }])).toBe('mustAuthenticate');
});

test('an image whose pull was interrupted by the death of the agent is not a preloaded one', async () => {
  await (await open()).pullBegins(image);
  expect(await access([login])).toBe('mustAuthenticate');
});

test('an interrupted pull stays known when the next one fails', async () => {
  await (await open()).pullBegins(image);
  const next = await open();
  await next.pullBegins(image);
  await next.pullFailed(image);
  expect(await access()).toBe('mustAuthenticate');
});

test('a failed pull leaves nothing', async () => {
  const records = await open();
  await records.pullBegins(image);
  await records.pullFailed(image);
  expect(records.access(image, present, []).result).toBe('credentialPolicyAllowed');
  expect(await files()).toEqual([]);
});

test('of two pulls at a time the last one removes the intent', async () => {
  const records = await open();
  await Promise.all([records.pullBegins(image), records.pullBegins(image)]);
  await records.pullFailed(image);
  expect(await files()).toEqual([`pulling/${recordFileName(image)}`]);
  await records.pullSucceeded(image, id, login);
  expect(await files()).toEqual([`pulled/${recordFileName(id)}`]);
});

test('a pull that begins while the last one ends keeps its intent', async () => {
  const records = await open();
  await records.pullBegins(image);
  await Promise.all([records.pullSucceeded(image, id, login), records.pullBegins(image)]);
  expect(await files()).toEqual([`pulling/${recordFileName(image)}`, `pulled/${recordFileName(id)}`]);
});

test('a pull that cannot be recorded does not begin', async () => {
  await mkdir(join(rootDir, 'image_manager'));
  await writeFile(folderOf('pulling'), '');
  const records = await open();
  await expect(records.pullBegins(image)).rejects.toThrow(/^recording the pull failed: .*image_manager\/pulling/);
  expect(records.access(image, present, []).result).toBe('credentialPolicyAllowed');
});

test('a pull whose end cannot be recorded counts as interrupted for the next agent', async () => {
  const records = await open();
  await records.pullBegins(image);
  await writeFile(folderOf('pulled'), '');
  await records.pullSucceeded(image, id, login);
  expect(records.access(image, present, [login]).result).toBe('credentialRecordFound');
  expect(lines).toEqual([expect.stringMatching(/^warn Recording an image pull failed/)]);
  await rm(folderOf('pulled'));
  expect(await access([login])).toBe('mustAuthenticate');
  // Another pull with the same credentials writes it.
  await records.pullBegins(image);
  await records.pullSucceeded(image, id, login);
  expect(await access([login])).toBe('credentialRecordFound');
});

test.each(['', '{"kind":"ImagePu', '\0\0\0', '{"kind":"Other"}', '[]'])(
  'a damaged record %j gives access to nobody, also after two restarts, until the next pull',
  async (damage) => {
    await pullWith(undefined);
    await writeFile(join(rootDir, recordPath), damage);
    expect(await access([login])).toBe('mustAuthenticate');
    expect(lines).toEqual([expect.stringContaining(recordFileName(id))]);
    expect(await access([login])).toBe('mustAuthenticate');
    expect(lines).toEqual([]);
    await pullWith(login);
    expect(await access([login])).toBe('credentialRecordFound');
    expect(await files()).toEqual([`pulled/${recordFileName(id)}`]);
  },
);

test('a damaged intent is still one', async () => {
  await (await open()).pullBegins(image);
  await writeFile(join(folderOf('pulling'), recordFileName(image)), '');
  expect([await access(), await access()]).toEqual(['mustAuthenticate', 'mustAuthenticate']);
});

test('what a kill left of a write is removed, and other files stay', async () => {
  await pullWith(login);
  await writeFile(`${join(rootDir, recordPath)}.17.tmp`, '{');
  await writeFile(join(folderOf('pulled'), 'notes.txt'), '');
  expect(await access([login])).toBe('credentialRecordFound');
  expect((await readdir(folderOf('pulled'))).sort()).toEqual(['notes.txt', recordFileName(id)]);
});

test('records of the kubelet 1.34 count', async () => {
  await mkdir(folderOf('pulled'), { recursive: true });
  const record = { kind: 'ImagePulledRecord', apiVersion: 'kubelet.config.k8s.io/v1alpha1', imageRef: id };
  const credentialMapping = { 'r.example/app': { nodePodsAccessible: true } };
  await writeFile(join(rootDir, recordPath), JSON.stringify({ ...record, credentialMapping }));
  expect(await access()).toBe('credentialRecordFound');
});

test('a collection of images removes records of images that are gone, but none that is newer than its list', async () => {
  const records = await pullWith(login);
  const listedAt = clock.monotonic();
  await records.prune(new Map(), listedAt);
  expect(await files()).toHaveLength(1);
  await records.prune(new Map([[id, [image]]]), listedAt + 1);
  expect(await files()).toHaveLength(1);
  await records.prune(new Map(), listedAt + 1);
  expect(await files()).toEqual([]);
});

test('a collection of images settles interrupted pulls', async () => {
  const first = await open();
  await first.pullBegins(image);
  await first.pullBegins('gone:1');
  const records = await open();
  await records.prune(new Map([[id, [image]]]), clock.monotonic());
  expect(await files()).toEqual([`pulled/${recordFileName(id)}`]);
  expect(await access([login])).toBe('mustAuthenticate');
});

test('a collection of images leaves pulls in progress alone', async () => {
  await (await open()).pullBegins(image);
  const records = await open();
  await records.pullBegins(image);
  await records.prune(new Map(), clock.monotonic() + 1);
  expect(await files()).toEqual([`pulling/${recordFileName(image)}`]);
});
