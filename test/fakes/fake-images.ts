import { createHash } from 'node:crypto';
import { type DeepPartial, Image } from '../../src/cri/generated/cri.ts';

/** The images of a fake runtime: those that it has, and those that it could pull. Names are compared literally. */
export class FakeImages {
  readonly #present = new Map<string, Image>();
  readonly #pullable = new Map<string, Image>();

  /** Adds an image as if it had been pulled before. */
  add(name: string, image: DeepPartial<Image> = {}): Image {
    const added = imageOf(name, image);
    this.#present.set(added.id, added);
    return added;
  }

  /**
   * Sets what pulling this name returns. Before the first call any name can be pulled, and after it only the given
   * ones.
   */
  addPullable(name: string, image: DeepPartial<Image> = {}): void {
    this.#pullable.set(name, imageOf(name, image));
  }

  /** Pulls an image. Returns undefined if no image has this name. */
  pull(name: string): Image | undefined {
    const image = this.#pullable.size === 0 ? imageOf(name, {}) : this.#pullable.get(name);
    if (image !== undefined) this.#present.set(image.id, image);
    return image;
  }

  /** Finds an image by id, tag or digest. */
  find(reference: string): Image | undefined {
    return this.list().find(({ id, repoTags, repoDigests }) => [id, ...repoTags, ...repoDigests].includes(reference));
  }

  remove(reference: string): void {
    const image = this.find(reference);
    if (image !== undefined) this.#present.delete(image.id);
  }

  list(): Image[] {
    return [...this.#present.values()];
  }
}

function imageOf(name: string, image: DeepPartial<Image>): Image {
  const id = `sha256:${createHash('sha256').update(name).digest('hex')}`;
  const names = name.includes('@') ? { repoDigests: [name] } : { repoTags: [name] };
  return Image.fromPartial({ id, size: 1_000_000n, ...names, ...image });
}
