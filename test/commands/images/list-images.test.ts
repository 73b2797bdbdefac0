import { expect, test } from 'vitest';
import type { Image } from '../../../src/cri/types.ts';
import { imageList, imageTable, sizeText } from '../../../src/commands/images/list-images.ts';

test.each<[bytes: bigint, text: string]>([
  [0n, '0B'],
  [999n, '999B'],
  [1000n, '1kB'],
  [765_957n, '766kB'],
  [999_600n, '1MB'],
  [2_340_000n, '2.34MB'],
  [71_600_000n, '71.6MB'],
  [456_700_000n, '457MB'],
  [1_240_000_000n, '1.24GB'],
])('%d bytes are shown as %s', (bytes, text) => {
  expect(sizeText(bytes)).toBe(text);
});

const digest = `sha256:${'d'.repeat(64)}`;
const images: Image[] = [
  {
    id: `sha256:${'b'.repeat(64)}`,
    repoTags: ['localhost/b:2', 'localhost/a:1'],
    repoDigests: [`localhost/a@${digest}`],
    size: 766_000n,
    uid: undefined,
    username: '',
    spec: undefined,
    pinned: true,
  },
];

test('the table has a row for each name, and with wide the pin and the digest', async () => {
  expect(await imageTable(images, 'table')).toBe(`\
IMAGE           IMAGE ID        SIZE
localhost/a:1   bbbbbbbbbbbbb   766kB
localhost/b:2   bbbbbbbbbbbbb   766kB
`);
  expect(await imageTable(images, 'wide')).toBe(`\
IMAGE           IMAGE ID        SIZE    PINNED   DIGEST
localhost/a:1   bbbbbbbbbbbbb   766kB   yes      ${digest}
localhost/b:2   bbbbbbbbbbbbb   766kB   yes      ${digest}
`);
});

test('the JSON has sizes in bytes', () => {
  const [{ id, repoTags, repoDigests } = { id: '', repoTags: [], repoDigests: [] }] = images;
  expect(imageList(images)).toEqual({ images: [{ id, repoTags, repoDigests, size: 766_000, pinned: true }] });
});
