// Counts the results of cache-tests: CHECKOUT RESULTS EXPECTED. Fails if a test that counts fails and is not expected to, or the reverse.

import fs from 'node:fs'
import { pathToFileURL } from 'node:url'

const [checkout, resultsFile, expectedFile] = process.argv.slice(2)
const load = (path) => import(pathToFileURL(`${checkout}/${path}`))
const suites = (await load('tests/index.mjs')).default
const { determineTestResult } = await load('test-engine/lib/results.mjs')

const results = JSON.parse(fs.readFileSync(resultsFile))
const lines = fs.readFileSync(expectedFile, 'utf8').split('\n')
const expected = new Map(lines.filter(line => line && !line.startsWith('#')).map(line => {
  const [id, ...reason] = line.split(' ')
  return [id, reason.join(' ')]
}))

// Marks of passed tests, of failed ones, and of those that say nothing here: for browsers, or without what they depend on.
const PASSED = '✅'
const SILENT = ['-', '⚪️']
const counts = {}
const wrong = []
for (const test of suites.flatMap(suite => suite.tests)) {
  const kind = test.kind || 'required'
  const mark = determineTestResult(suites, test.id, results, false)[2]
  if (kind === 'check' || SILENT.includes(mark)) continue
  counts[kind] ??= { passed: 0, of: 0 }
  counts[kind].of += 1
  if (mark === PASSED) counts[kind].passed += 1
  if ((mark === PASSED) === expected.has(test.id)) {
    wrong.push(`${test.id}: ${mark} ${expected.get(test.id) ?? JSON.stringify(results[test.id])}`)
  }
}
for (const [kind, { passed, of }] of Object.entries(counts)) console.log(`${kind}: ${passed} of ${of}`)
wrong.forEach(line => console.log(`other than expected: ${line}`))
process.exit(wrong.length > 0 ? 1 : 0)
