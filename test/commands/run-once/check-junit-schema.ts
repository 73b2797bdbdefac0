import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { XmlDocument, XsdValidator } from 'libxml2-wasm';

/** Throws for XML that the schema does not allow. */
export function checkJunitSchema(xml: string): void {
  const schema = XmlDocument.fromBuffer(readFileSync(join(import.meta.dirname, 'junit.xsd')));
  const validator = XsdValidator.fromDoc(schema);
  const document = XmlDocument.fromString(xml);
  try {
    validator.validate(document);
  } finally {
    document.dispose();
    validator.dispose();
    schema.dispose();
  }
}
