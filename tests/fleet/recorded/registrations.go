// Writes registrations.json: what Go makes of entries of the registry. Run it with: go run registrations.go >registrations.json
package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"time"
)

type entry struct {
	Cluster     string            `json:"cluster"`
	Service     string            `json:"service"`
	Protocol    string            `json:"protocol"`
	Address     string            `json:"address"`
	Port        any               `json:"port"`
	Priority    int64             `json:"priority"`
	Annotations map[string]string `json:"annotations,omitempty"`
	TTL         string            `json:"ttl,omitempty"`
}

type vector struct {
	Body     string `json:"body"`
	Instance string `json:"instance"`
}

type group struct {
	Labels  map[string]string `json:"labels"`
	Targets []string          `json:"targets"`
}

func instance(e entry) string {
	h := fnv.New64a()
	for _, part := range []string{e.Cluster, e.Service, e.Protocol, e.Address, fmt.Sprintf("%d", e.Port)} {
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func main() {
	entries := []entry{
		{"prod", "web", "http", "10.0.0.1", int64(80), 10, nil, ""},
		{"prod", "web", "http", "10.0.0.1", nil, 10, nil, ""},
		{"prod", "web", "http", "10.0.0.1", int64(8080), 255, map[string]string{"b": "2", "a": "<1> & \"ü\" \u2028"}, "10m0s"},
		{"a", "b-c_d", "Tcp", "2001:db8::1", int64(65535), 1, map[string]string{}, "never"},
		{"a", "b", "c", "::1", int64(1), 1, map[string]string{"prometheus.io/scrape": "true", "tab": "\t\x01\b\f\\/"}, "1.5s"},
	}
	vectors := []vector{}
	for _, e := range entries {
		body, err := json.Marshal(e)
		if err != nil {
			panic(err)
		}
		vectors = append(vectors, vector{string(body), instance(e)})
	}
	seconds := []float64{0, 1, 30, 60, 61.5, 600, 3600, 86400, 90061.001, 0.02, 0.0015, 0.000001}
	durations := map[string]string{}
	for _, each := range seconds {
		durations[fmt.Sprint(each)] = time.Duration(each * 1e9).String()
	}
	hashes := map[string]string{}
	for _, text := range []string{"", "a", "foobar", "ü", "choria"} {
		h := fnv.New64a()
		h.Write([]byte(text))
		hashes[text] = hex.EncodeToString(h.Sum(nil))
	}
	groups, err := json.MarshalIndent([]group{{map[string]string{"service": "web", "cluster": "prod", "note": "a<b"}, []string{"10.0.0.1:80"}}}, "", "  ")
	if err != nil {
		panic(err)
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	if err := out.Encode(map[string]any{"entries": vectors, "durations": durations, "fnv": hashes, "file_sd": string(groups)}); err != nil {
		panic(err)
	}
}
