// What Prometheus' own parsers say of alert rules and of queries. For the tests; nothing of it ships.
//
//	prometheus-rules [RULE_FILE...] < QUERIES      (a query a line)
//
// It prints one JSON object: the errors, and for each expression the metrics that it selects.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"sort"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

type report struct {
	Errors  []string            `json:"errors"`
	Metrics map[string][]string `json:"metrics"`
}

func main() {
	found := report{Errors: []string{}, Metrics: map[string][]string{}}
	parse := parser.NewParser(parser.Options{})
	for _, file := range os.Args[1:] {
		found.readRules(file, parse)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		found.readExpression(lines.Text(), parse)
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		os.Exit(1)
	}
}

func (it *report) readRules(file string, parse parser.Parser) {
	groups, problems := rulefmt.ParseFile(file, false, model.UTF8Validation, parse, slog.Default())
	for _, problem := range problems {
		it.Errors = append(it.Errors, problem.Error())
	}
	if groups == nil {
		return
	}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			it.readExpression(rule.Expr, parse)
		}
	}
}

func (it *report) readExpression(text string, parse parser.Parser) {
	expression, err := parse.ParseExpr(text)
	if err != nil {
		it.Errors = append(it.Errors, fmt.Sprintf("%s: %v", text, err))
		return
	}
	names := []string{}
	for _, selector := range parser.ExtractSelectors(expression) {
		for _, matcher := range selector {
			if matcher.Name == labels.MetricName {
				names = append(names, matcher.Value)
			}
		}
	}
	sort.Strings(names)
	it.Metrics[text] = names
}
