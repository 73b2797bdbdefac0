import { expect, test } from 'vitest';
import { imageMeaning } from '../../../src/engine/explain/explain-image.ts';

test('of an image that is missing offline, all missing images and the commands that bring them are named', () => {
  const message = 'Container image "app:1" is not present, and this node is offline. The pod also lacks: init:1, db:2';
  expect(imageMeaning('app:1', message)).toEqual({
    cause: 'app:1 is not on this node, and --offline forbids a pull; the pod also lacks init:1, db:2',
    ways: [
      'Where a registry answers: kubelet-ts images pull -f MANIFEST, then kubelet-ts images bundle -o FILE.tar MANIFEST. ' +
        'Load it here: kubelet-ts images load FILE.tar',
      'Or start kubelet-ts without --offline.',
    ],
  });
});
