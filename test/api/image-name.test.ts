import { expect, test } from 'vitest';
import { defaultImagePullPolicy, parseImageName, pullReference } from '../../src/api/image-name.ts';
import { loadTable } from '../golden-tables.ts';

test.each(loadTable<{ image: string }, { ok: boolean }>('image-names'))(
  'parses the image name "$in.image" as the kubelet does',
  ({ in: { image }, out }) => {
    const name = parseImageName(image);
    expect(name ? { ok: true, ...name, pullReference: pullReference(image) } : { ok: false }).toEqual(out);
  },
);

test.each(loadTable<{ image: string; imagePullPolicy?: string }, { imagePullPolicy: string }>('image-pull-policy'))(
  'defaults the pull policy of "$in.image" ($in.imagePullPolicy)',
  ({ in: { image, imagePullPolicy }, out }) => {
    expect({ imagePullPolicy: imagePullPolicy ?? defaultImagePullPolicy(image) }).toEqual(out);
  },
);
