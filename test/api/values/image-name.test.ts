import { expect, test } from 'vitest';
import { defaultImagePullPolicy, parseImageName, pullReference } from '../../../src/api/values/image-name.ts';

test.each([
  ['a name', 'a'.repeat(10_000_000)],
  ['a registry', `${'a.'.repeat(5_000_000)}b/app`],
  ['a path', `localhost/${'a/'.repeat(5_000_000)}b`],
])('%s of 10 MB is not an image name, and breaks nothing', (_what, image) => {
  expect({
    name: parseImageName(image),
    reference: pullReference(image),
    policy: defaultImagePullPolicy(image),
  }).toEqual({ name: undefined, reference: undefined, policy: 'IfNotPresent' });
});
