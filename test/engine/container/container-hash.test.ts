import { expect, test } from 'vitest';
import { containerHash, containerHashHex } from '../../../src/engine/container/container-hash.ts';

test.each([
  { name: 'web', image: 'nginx:1.27', hex: 'e220f96' },
  { name: 'app', image: 'registry.k8s.io/pause:3.10', hex: 'ed432b69' },
])('is the same as the kubelet writes for $image', ({ name, image, hex }) => {
  expect(containerHashHex({ name, image })).toBe(hex);
});

test('follows an object that changes', () => {
  const container = { name: 'web', image: 'nginx:1.27' };
  const hashes = [containerHashHex(container)];
  container.image = 'nginx:1.28';
  hashes.push(containerHashHex(container));
  container.image = 'nginx:1.27';
  hashes.push(containerHashHex(container));
  expect(hashes).toEqual(['e220f96', containerHashHex({ name: 'web', image: 'nginx:1.28' }), 'e220f96']);
});

test('changes with the image and with nothing but name and image', () => {
  const container = { name: 'web', image: 'nginx:1.27' };
  expect(containerHash({ ...container, command: ['sh'], env: [{ name: 'A', value: 'b' }] })).toBe(
    containerHash(container),
  );
  expect(containerHash({ ...container, image: 'nginx:1.28' })).not.toBe(containerHash(container));
});
