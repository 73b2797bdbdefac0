import { parseImageName, pullReference } from '../../../src/api/values/image-name.ts';
import { tableAdapter } from '../table-adapter.ts';

export const imageNames = tableAdapter<{ image: string }>('image-names', ({ image }) => {
  const name = parseImageName(image);
  return name ? { ok: true, ...name, pullReference: pullReference(image) } : { ok: false };
});
