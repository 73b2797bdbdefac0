import { kindMeant } from '../../engine/applied/applied-object.ts';

/** The name in `svc/web`. Returns undefined if another kind is meant. */
export function serviceMeant(reference: string): string | undefined {
  const [kind = '', name] = reference.split('/');
  return kindMeant(kind) === 'Service' ? name : undefined;
}

/** Joins the kind of a Service with the name after it: `svc web` becomes `svc/web`. */
export function serviceWords(words: readonly string[]): string[] {
  const [kind = '', name, ...others] = words;
  const isService = name !== undefined && !kind.includes('/') && kindMeant(kind) === 'Service';
  return isService ? [`${kind}/${name}`, ...others] : [...words];
}
